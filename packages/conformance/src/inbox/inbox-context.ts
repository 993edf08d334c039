import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import {
  type Catalog,
  createCatalog,
  createWorker,
  type Handlers,
  type Inbox,
  type InboxEntry,
  type InboxQueue,
  type InboxRole,
  type InboxRoleName,
  type InboxWriter,
  type TakenEvent,
  type WebhookEvent,
  type WorkerOptions,
} from "@esim-webhooks/core";
import { recordingLogger } from "../receiver/scenario.ts";
import { longLeaseMs } from "../store/store-context.ts";

/** The options with which the suite opens the inbox under test. */
export interface OpenInboxOptions {
  /** How long done ids are remembered, in ms. Default: that of the inbox. */
  readonly retentionMs?: number;
  /** The timeout of an operation, in ms, for inboxes on a server. */
  readonly timeoutMs?: number;
  /** The lane of each event, for an inbox with lanes. */
  readonly lane?: (event: WebhookEvent) => string;
  /** Whether a dead event holds its lane. Default false. */
  readonly laneHeldByDead?: boolean;
  /** The subject of an event, by its data. */
  readonly subject?: (data: Readonly<Record<string, unknown>>, type: string | null) => unknown;
  /** How long the bodies of dead and unhandled events are kept, in ms. Default: that of the inbox. */
  readonly bodyRetentionMs?: number;
  /** Whether the inbox counts what happens in each minute. Default false. */
  readonly minuteCounts?: boolean;
}

/** Opens the inbox under test, with the roles of its capabilities; a durable one on the same data each time. The suite closes it. */
export type OpenInbox<Roles = InboxRole> = (options: OpenInboxOptions) => Roles | Promise<Roles>;

/**
 * A need of a test: a role, or an ability that some admin roles lack: `filters` (every filter, and counts of conflicts), `pauses` (of single
 * types), `bodyRetention` (removes bodies before their events).
 */
export type InboxNeed = InboxRoleName | "filters" | "pauses" | "bodyRetention";

/** A sentence about an inbox, which names the test; what the test needs; and the test itself. */
export type InboxScenario = readonly [
  sentence: string,
  needs: readonly InboxNeed[],
  run: (open: OpenInbox<Inbox>) => Promise<void>,
];

/** Opens an inbox for `use`, and closes it. */
export async function withInbox<Roles extends InboxRole>(
  open: OpenInbox<Roles>,
  options: OpenInboxOptions,
  use: (inbox: Roles) => Promise<void>,
): Promise<void> {
  const inbox = await open(options);
  try {
    await use(inbox);
  } finally {
    await inbox.close();
  }
}

/** The events of one test. Each test has its own type, so tests can share an inbox. */
export interface TestEvents {
  readonly type: string;
  readonly source: string;
  entry(id: string, changes?: Partial<InboxEntry> & { data?: unknown; timestamp?: string }): InboxEntry;
  /** Takes the due events of this test. */
  take(inbox: InboxQueue, limit?: number, leaseMs?: number): Promise<readonly TakenEvent[]>;
  /** Takes one suspect of this test. */
  takeSuspect(inbox: InboxQueue, leaseMs?: number): Promise<readonly TakenEvent[]>;
  /** Takes an event as soon as it is due, also as a suspect. It polls, since no inbox reports the end of a lease. */
  takeInTime(inbox: InboxQueue, leaseMs?: number): Promise<TakenEvent>;
}

export function newEvents(): TestEvents {
  const type = `test.${randomUUID()}`;
  const source = randomUUID();
  const take = (inbox: InboxQueue, limit = 100, leaseMs = longLeaseMs) =>
    inbox.take({ limit, leaseMs, only: [type] });
  const takeSuspect = (inbox: InboxQueue, leaseMs = longLeaseMs) =>
    inbox.take({ limit: 1, leaseMs, only: [type], suspects: true });
  return {
    type,
    source,
    entry: (id, { data = {}, timestamp, ...changes } = {}) => ({
      ...entryOf(source, id, type, data, timestamp),
      ...changes,
    }),
    take,
    takeSuspect,
    async takeInTime(inbox, leaseMs) {
      for (;;) {
        const [taken] = await take(inbox, 1, leaseMs);
        const [suspect] = taken === undefined ? await takeSuspect(inbox, leaseMs) : [taken];
        if (suspect !== undefined) return suspect;
        await pause(20);
      }
    },
  };
}

export function entryOf(
  source: string,
  id: string,
  type: string,
  data: unknown,
  timestamp: string = new Date().toISOString(),
): InboxEntry {
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source, id, type, event: { id, type, timestamp, data }, body, receivedAt: new Date() };
}

export async function stored(inbox: InboxWriter, ...entries: readonly InboxEntry[]): Promise<void> {
  assert.deepEqual(await inbox.put(entries), Array(entries.length).fill("stored"));
}

export async function takenOne(events: TestEvents, inbox: InboxQueue, leaseMs?: number): Promise<TakenEvent> {
  const taken = await events.take(inbox, 1, leaseMs);
  assert.equal(taken.length, 1);
  return taken[0] as TakenEvent;
}

export function idsOf(events: readonly { readonly id: string }[]): string[] {
  return events.map(({ id }) => id);
}

type AnyData = Readonly<Record<string, unknown>>;

/** A schema of events whose `step` is text. Its message quotes the value, as the messages of some libraries do. */
const schema = {
  "~standard": {
    version: 1,
    vendor: "conformance",
    validate: (data: unknown) => {
      const { step } = data as AnyData;
      return typeof step === "string"
        ? { value: data as AnyData }
        : { issues: [{ path: ["step"], message: `expected a string but received ${step}` }] };
    },
  },
} as const;

/** Makes a catalog in which these types have this schema. */
export function stepCatalog(...types: readonly string[]): Catalog<Record<string, AnyData>> {
  return createCatalog(Object.fromEntries(types.map((type) => [type, schema])));
}

/** The operations of the admin role that change something. No worker calls them. */
type Changing = "redrive" | "giveUp" | "purgeDead" | "pause" | "resume" | "erase" | "noteRun";

/** Returns the inbox with a `take` that takes only these types: the scenarios of a suite share one inbox. */
export function takingOnly(inbox: Inbox, only: readonly string[]): InboxQueue {
  const { capabilities, transact } = inbox;
  const queue: Omit<Inbox, "put" | "rerun" | "list" | "get" | Changing> = {
    capabilities,
    ready: () => inbox.ready(),
    close: () => inbox.close(),
    take: (options) => inbox.take({ ...options, only }),
    extend: (leases, leaseMs) => inbox.extend(leases, leaseMs),
    settle: (settlements) => inbox.settle(settlements),
    purge: (limit) => inbox.purge(limit),
    count: (filter) => inbox.count(filter),
    stats: () => inbox.stats(),
    gauges: () => inbox.gauges(),
    workers: () => inbox.workers(),
    paused: () => inbox.paused(),
    runs: () => inbox.runs(),
    minutes: () => inbox.minutes(),
    ...(transact && { transact: (lease, work) => transact.call(inbox, lease, work) }),
  };
  return queue;
}

/** Runs a worker until `enough` returns true. Resolves to the lines that it logged. */
export async function worked(
  inbox: InboxQueue,
  handlers: Handlers<Record<string, AnyData>>,
  options: WorkerOptions<Record<string, AnyData>>,
  enough: (lines: readonly Record<string, unknown>[]) => boolean | Promise<boolean>,
): Promise<Record<string, unknown>[]> {
  const { logger, lines } = recordingLogger();
  const stop = new AbortController();
  const worker = createWorker<Record<string, AnyData>>(inbox, handlers, { logger, pollMs: 10, ...options });
  const running = worker.run({ signal: stop.signal });
  try {
    while (!(await enough(lines))) await pause(10);
  } finally {
    stop.abort();
    await running;
  }
  return lines;
}

/** Pauses until a second from now, and resolves to that time. Repeated when a machine that stalled called `pauseUntil` only after it. */
export async function pausedForASecond(pauseUntil: (until: Date) => Promise<unknown>): Promise<Date> {
  for (;;) {
    const until = new Date(Date.now() + 1000);
    try {
      await pauseUntil(until);
      return until;
    } catch (error) {
      if (Date.now() < until.getTime()) throw error;
    }
  }
}

/** A stored event, and the inbox as a queue of only its type. */
export interface OneEvent {
  readonly type: string;
  readonly source: string;
  readonly entry: InboxEntry;
  readonly queue: InboxQueue;
  isIn(state: string): Promise<boolean>;
}

export async function oneStored(inbox: Inbox, changes: Partial<InboxEntry> = {}): Promise<OneEvent> {
  const { type, source } = newEvents();
  const entry = { ...entryOf(source, "a", type, { step: "" }), ...changes };
  await stored(inbox, entry);
  const isIn = async (state: string) => (await inbox.get(entry))?.state === state;
  return { type, source, entry, queue: takingOnly(inbox, [type]), isIn };
}
