import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type GivenUp,
  type Inbox,
  type InboxEntry,
  type LaneOf,
  type Settlement,
  type StateStore,
  type StoredState,
  WebhookError,
} from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";
import type { Applied, ApplyInput } from "../../packages/store-sqlite/src/sql/handler-statements.ts";
import type { PutRow } from "../../packages/store-sqlite/src/sql/put.ts";
import type { ChosenInput } from "../../packages/store-sqlite/src/sql/redrive.ts";
import type { Answer } from "../../packages/store-sqlite/src/thread/messages.ts";
import { memoryFolder } from "../../test/memory-folder.ts";
import type { Checks, SettleCommit, TakeCommit } from "./checks.ts";
import type { Faults } from "./faults.ts";
import type { Process, Processes } from "./process.ts";
import type { Random } from "./random.ts";
import { installThreads } from "./sqlite-thread.ts";
import type { Machine, Owner, VirtualTime } from "./virtual-time.ts";

/** The stores of one process. */
export interface Stores {
  readonly inbox: Inbox<SqliteTransaction>;
  readonly state: StateStore;
}

type Lease = Pick<TakeCommit, "id" | "token">;

/** Where events are kept, with all that is durable. */
export interface Engine {
  /** Processes that have a machine of their own, or all the one of the engine. */
  machineFor(): Machine;
  open(process: Process): Promise<Stores>;
  /** Lets the server be unreachable until then, in ms of virtual time. */
  outage(untilMs: number): void;
  /** How often each event has taken effect, by the table that handlers write to. */
  effects(): ReadonlyMap<string, number>;
  close(): void;
}

export interface EngineOptions {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly random: Random;
  readonly processes: Processes;
  readonly checks: Checks;
  readonly lane: LaneOf | undefined;
  readonly storeMachine: Machine;
  /** Called when the store has changed something for a process, which does not know yet. */
  onCommitted(process: Process): void;
}

/** Rules that an engine can break on purpose, to show that the checks notice. */
export const breaks = {
  fence: "a settlement is applied without a look at its fence",
  acknowledge: "put answers before it has stored",
  lane: "events are taken without a look at their lane",
  extend: "a lease is not extended, and called extended",
  forget: "one entry of a hundred is called stored, and is not",
} as const;

export type Break = keyof typeof breaks;

// ---------------------------------------------------------------- a server, kept in memory

const storeTimeoutMs = 5000;

/**
 * A server on a network, such as Postgres or Redis: `memoryInbox` outside of all processes, which each reaches by messages that are lost,
 * late and in another order. What a message asks for is done when it arrives, also if no process waits for the answer any more.
 */
export function serverEngine(
  { time, faults, random, checks, lane, storeMachine, onCommitted }: EngineOptions,
  broken: Break | undefined,
): Engine {
  const server = memoryInbox({ ...(lane && broken !== "lane" && { lane }) });
  const owner: Owner = { name: "store", machine: storeMachine, isDead: false, frozenUntil: 0 };
  const states = new Map<string, StoredState>();
  const effects = new Map<string, number>();
  const fences = new Map<string, string>();
  let versions = 0;
  let downUntil = 0;

  function unavailable(why: string): WebhookError {
    return new WebhookError(
      "store_unavailable",
      `The simulated server did not answer: ${why}.`,
      "Try again.",
    );
  }

  /** Asks the server, and waits for its answer as long as a client does. */
  function ask<T>(process: Process, what: string, work: () => Promise<T>): Promise<T> {
    if (process.isStarting) return work();
    return new Promise((resolve, reject) => {
      const { requestMs, answerMs, lost, isReset } = faults.fate();
      const reset = (afterMs: number) =>
        time.plan(process, afterMs, `${what}: connection reset`, () => reject(unavailable("reset")));
      if (downUntil > time.now) return void reset(1);
      const timeout = time.plan(process, storeTimeoutMs, `${what}: timeout`, () =>
        reject(unavailable("timeout")),
      );
      const isUnreachable = process.partitionedUntil > time.now;
      if (isUnreachable || lost === "before") {
        checks.count("store requests lost");
        return void (isReset && !isUnreachable && reset(requestMs));
      }
      const answered = (settle: () => void) => {
        onCommitted(process);
        if (lost === "after") {
          checks.count("store answers lost");
          return void (isReset && reset(answerMs));
        }
        time.plan(process, answerMs, `${what}: answer`, () => {
          timeout.isCancelled = true;
          settle();
        });
      };
      time.plan(
        owner,
        requestMs,
        `${what} of ${process.name}`,
        () =>
          void work().then(
            (answer) => answered(() => resolve(answer)),
            (error) => answered(() => reject(error)),
          ),
      );
    });
  }

  async function put(entries: readonly InboxEntry[]) {
    const kept = broken === "forget" ? entries.filter(() => !random.chance(0.01)) : entries;
    const stored = await server.put(kept);
    const results = entries.map((entry) => stored[kept.indexOf(entry)] ?? ("stored" as const));
    checks.put(
      kept.map((entry) => ({
        id: entry.id,
        lane: (entry.event && lane?.(entry.event as never)) ?? null,
        occurredAt: Date.parse(entry.event?.timestamp ?? ""),
      })),
      stored,
    );
    return results;
  }

  function withFence(settlement: Settlement): Settlement {
    return broken === "fence"
      ? { ...settlement, token: fences.get(settlement.id) ?? settlement.token }
      : settlement;
  }

  async function settle(settlements: readonly Settlement[]) {
    const results = await server.settle(settlements.map(withFence));
    checks.settled(settlements, results);
    return results;
  }

  async function apply(lease: { source: string; id: string; token: string }, effect: string) {
    const [held = false] = await server.settle([withFence({ ...lease, state: "done" })]);
    checks.applied(lease, held);
    if (held) effects.set(effect, (effects.get(effect) ?? 0) + 1);
    return held ? ("committed" as const) : ("rolled_back" as const);
  }

  async function transact(
    process: Process,
    { source, id, token }: { source: string; id: string; token: string },
    work: (tx: SqliteTransaction) => Promise<boolean>,
  ) {
    const effectsOfHandler: string[] = [];
    const isWanted = await work({
      write: ({ parameters = [] }) => void effectsOfHandler.push(String(parameters[0])),
      read: async () => [],
    });
    const [effect] = effectsOfHandler;
    if (effect === undefined) return "unused" as const;
    if (!isWanted) return "rolled_back" as const;
    return ask(process, `apply ${id}`, () => apply({ source, id, token }, effect));
  }

  const state = (process: Process): StateStore => ({
    capabilities: { durable: true, multiProcess: true },
    async ready() {},
    read: (name) => ask(process, `read ${name}`, async () => structuredClone(states.get(name))),
    write: (name, value, version) => {
      const copy = structuredClone(value);
      return ask(process, `write ${name}`, async () => {
        if (states.get(name)?.version !== version) return false;
        states.set(name, { value: copy, version: String(++versions) });
        return true;
      });
    },
    async close() {},
  });

  return {
    machineFor: () => ({ offsetMs: 0, setAt: 0 }),
    outage(untilMs) {
      downUntil = untilMs;
    },
    effects: () => effects,
    close() {},
    async open(process) {
      const inbox: Stores["inbox"] = {
        ...(server as Stores["inbox"]),
        capabilities: { ...server.capabilities, durable: true, multiProcess: true, transactional: true },
        put(entries) {
          const copies = entries.map((entry) => ({ ...entry, body: Uint8Array.from(entry.body) }));
          const ids = entries.map(({ id }) => id).join(" ");
          if (broken !== "acknowledge") return ask(process, `put ${ids}`, () => put(copies));
          return ask(process, `put ${ids}`, async () => {
            time.plan(process, 100, `stores ${ids} late`, () => void put(copies));
            return copies.map(() => "stored" as const);
          });
        },
        take: (options) =>
          ask(process, options.suspects ? "take a suspect" : "take", async () => {
            const taken = await server.take(options);
            for (const { id, token } of taken) fences.set(id, token);
            if (taken.length > 0) time.note(`  takes ${taken.map(({ id }) => id).join(" ")}`);
            checks.taken(process, taken, options.leaseMs);
            return taken;
          }),
        extend: (leases, leaseMs) =>
          ask(process, `extend ${leases.length}`, async () => {
            const results = await server.extend(leases, broken === "extend" ? 1 : leaseMs);
            checks.extended(leases, results, leaseMs);
            return results;
          }),
        settle: (settlements) =>
          ask(process, `settle ${settlements.map(({ id, state }) => `${id} ${state}`).join(" ")}`, () =>
            settle(settlements),
          ),
        transact: (lease, work) => transact(process, lease, work),
        report: (worker) => ask(process, "report", () => server.report?.(worker) ?? Promise.resolve()),
        purge: (limit) => ask(process, "purge", () => server.purge(limit)),
        gauges: () => ask(process, "gauges", server.gauges),
        paused: () => ask(process, "paused", server.paused),
        onHint: (listener) =>
          server.onHint?.(() => {
            if (!random.chance(0.2)) time.plan(process, random.between(1, 50), "hint", listener);
          }) ?? (() => {}),
        async redrive(filter, limit) {
          const redriven = await server.redrive(filter, limit);
          if (redriven > 0) for (const id of filter?.ids ?? []) checks.redriven(id, filter?.state ?? "dead");
          return redriven;
        },
        async giveUp(filter, options, limit) {
          const givenUp = await server.giveUp(filter, options, limit);
          if (givenUp.events > 0) for (const id of filter.ids ?? []) checks.givenUp(id);
          return givenUp;
        },
        async close() {},
      };
      return { inbox, state: state(process) };
    },
  };
}

// ---------------------------------------------------------------- SQLite, in a file

/** `sqliteInbox` in a file that all processes have open, on one machine. Their threads are ours: see sqlite-thread.ts. */
export function sqliteEngine({
  time,
  faults,
  random,
  processes,
  checks,
  lane,
  storeMachine,
  onCommitted,
}: EngineOptions): Engine {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), "simulation-"));
  const path = join(folder, "events.db");
  installThreads({
    ...{ time, faults, random },
    hostOf: processes.get,
    onCommitted(host, calls, answers) {
      for (const [index, call] of calls.entries()) {
        const answer = answers[index] as Answer;
        if ("output" in answer)
          reports[call.name]?.(host as Process, call.input as never, answer.output as never);
      }
      onCommitted(host as Process);
    },
  });

  /** Reports a committed call to the checks. They trust the names of its input, not its output. */
  const reports: Readonly<Record<string, (process: Process, input: never, output: never) => void>> = {
    put: (_, { rows }: { readonly rows: readonly PutRow[] }, results: readonly string[]) =>
      checks.put(
        rows.map(({ id, lane, occurredAt }) => ({ id, lane, occurredAt: occurredAt ?? 0 })),
        results,
      ),
    take(
      process,
      { leaseMs }: { readonly leaseMs: number },
      { events: taken }: { readonly events: readonly TakeCommit[] },
    ) {
      if (taken.length > 0) time.note(`  takes ${taken.map(({ id }) => id).join(" ")}`);
      checks.taken(process, taken, leaseMs);
    },
    renew: (
      _,
      { leases, leaseMs }: { readonly leases: readonly Lease[]; readonly leaseMs: number },
      results: readonly boolean[],
    ) => checks.extended(leases, results, leaseMs),
    settle(
      _,
      { settlements }: { readonly settlements: readonly SettleCommit[] },
      results: readonly boolean[],
    ) {
      time.note(`  settles ${settlements.map(({ id, state }) => `${id} ${state}`).join(" ")}: ${results}`);
      checks.settled(settlements, results);
    },
    apply(_, { mark }: ApplyInput, { status }: Applied) {
      const { id, token } = mark.by === "inbox" ? mark.settling : { id: mark.key.id, token: mark.token };
      time.note(`  applies ${id}: ${status}`);
      checks.applied({ id, token }, status === "committed");
    },
    redrive(_, { filter: { ids = [], state } }: ChosenInput, redriven: number) {
      if (redriven === 1) for (const id of ids) checks.redriven(id, state);
    },
    giveUp(_, { filter: { ids = [] } }: ChosenInput, { events }: GivenUp) {
      if (events === 1) for (const id of ids) checks.givenUp(id);
    },
  };

  let isPrepared = false;
  return {
    machineFor: () => storeMachine,
    outage() {}, // a file has no server
    effects() {
      const database = new DatabaseSync(path);
      const rows = database.prepare("select id, count(*) as found from effect group by id").all();
      database.close();
      return new Map(rows.map(({ id, found }) => [String(id), Number(found)]));
    },
    close: () => rmSync(folder, { recursive: true }),
    async open({ program: { sqlite } }) {
      const inbox = sqlite.sqliteInbox({ path, ...(lane && { lane }) });
      const state = sqlite.sqliteState({ path });
      await inbox.ready();
      await state.ready();
      if (!isPrepared) {
        isPrepared = true;
        const database = new DatabaseSync(path);
        database.exec("create table effect (id text not null, attempt integer not null)");
        database.close();
      }
      return { inbox, state };
    },
  };
}
