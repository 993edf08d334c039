import { setTimeout as pause } from "node:timers/promises";
import {
  type Catalog,
  createCatalog,
  createWorker,
  type Handlers,
  type Inbox,
  type InboxEntry,
  type InboxQueue,
  type WorkerOptions,
} from "@esim-webhooks/core";
import { recordingLogger } from "../receiver/scenario.ts";

type AnyData = Readonly<Record<string, unknown>>;

/** A schema of events whose `step` is text. Its message quotes what it found, as those of some libraries do. */
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

/** A catalog of these types, with that schema. */
export function stepCatalog(...types: readonly string[]): Catalog<Record<string, AnyData>> {
  return createCatalog(Object.fromEntries(types.map((type) => [type, schema])));
}

/** The inbox, whose `take` takes only these types: the scenarios of a suite share one inbox. */
export function takingOnly(inbox: Inbox, only: readonly string[]): InboxQueue {
  const { capabilities, transact } = inbox;
  const queue: Omit<Inbox, "put" | "rerun" | "list" | "get" | "redrive" | "purgeDead"> = {
    capabilities,
    ready: () => inbox.ready(),
    close: () => inbox.close(),
    take: (options) => inbox.take({ ...options, only }),
    extend: (leases, leaseMs) => inbox.extend(leases, leaseMs),
    settle: (settlements) => inbox.settle(settlements),
    purge: (limit) => inbox.purge(limit),
    count: (filter) => inbox.count(filter),
    stats: () => inbox.stats(),
    ...(transact && { transact: (lease, work) => transact.call(inbox, lease, work) }),
  };
  return queue;
}

/** Runs a worker until `enough` says so. Resolves to the lines that it logged. */
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

export function entryOf(source: string, id: string, type: string, data: unknown): InboxEntry {
  const timestamp = new Date().toISOString();
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source, id, type, event: { id, type, timestamp, data }, body, receivedAt: new Date() };
}
