import { createHash } from "node:crypto";
import { type Inbox, type InboxEntry, type Logger, type PutResult, WebhookError } from "@esim-webhooks/core";
import { coalesce, monotonicClock, throttledLog } from "@esim-webhooks/core/kit";
import { type Kysely, type PostgresPool, sql, type Transaction } from "kysely";
import { createHints, hearHints } from "./database/hints.ts";
import type { OpenTables } from "./database/postgres-database.ts";
import { runOn } from "./database/run-on.ts";
import type { Tables } from "./database/tables.ts";
import { transact } from "./database/transact.ts";
import type { InboxSettings, LaneOf } from "./inbox-options.ts";
import { get, list, purgeDead, redrive, stats } from "./sql/admin.ts";
import { forget } from "./sql/forget.ts";
import { put } from "./sql/put.ts";
import { nameOf, type PutRow, storableJson } from "./sql/put-rows.ts";
import { rerun } from "./sql/rerun.ts";
import { renew, type SettleRules, settle } from "./sql/settle.ts";
import { reap, take } from "./sql/take.ts";

export type SqlInboxSettings = InboxSettings & SettleRules & { readonly logger: Logger };

const gathered = {
  maxItems: 500,
  maxFlushes: 2,
  maxSize: 8 * 1024 * 1024,
  sizeOf: ({ entry, replay }: PutRow) => entry.body.byteLength + (replay?.length ?? 0),
};
const reapEveryMs = 1000;
const operatorLimit = 1000;
const pageLimit = 50;

/** The inbox's operations, wherever its database runs. */
export function createSqlInbox<Database>(
  { db, guard, tables }: Omit<OpenTables<Database>, "close">,
  settings: SqlInboxSettings,
  notifyBy?: PostgresPool,
): Omit<Inbox<Transaction<Database>>, "capabilities" | "close" | "transact"> &
  Required<Pick<Inbox<Transaction<Database>>, "transact" | "onHint">> {
  const run = runOn(db, guard);
  const rowOf = rowReader(settings);
  const hints = createHints();
  const channel = channelOf(tables.schema);
  let reapAt = 0;

  /** Tells workers, here and elsewhere, that there is something to take. */
  function announce(): void {
    hints.give();
    if (notifyBy)
      run((connection) => sql`select pg_notify(${channel}, '')`.execute(connection)).catch(() => {});
  }

  /** Calls of the same time go together. Where the database refuses one of the rows, the others do not go with it. */
  function together<Result>(
    work: (db: Kysely<unknown>, tables: Tables, rows: readonly PutRow[]) => Promise<Result[]>,
    made: Result,
  ): (row: PutRow) => Promise<Result | WebhookError> {
    const all = (rows: readonly PutRow[]) =>
      run((connection) => inTurns(rows, (turn) => work(connection, tables, turn)));
    const one = (row: PutRow) =>
      all([row]).then(
        ([result = made]) => result,
        (error: WebhookError) => error,
      );
    const apart = (rows: readonly PutRow[], error: unknown) => {
      if (!WebhookError.is(error) || !isOfTheData(error.cause)) throw error;
      return Promise.all(rows.map(one));
    };
    return coalesce(async (rows: readonly PutRow[]) => {
      const results: readonly unknown[] = await all(rows).catch((error: unknown) => apart(rows, error));
      if (results.includes(made)) announce();
      return results as readonly (Result | WebhookError)[];
    }, gathered);
  }

  const putOne = together<PutResult>(put, "stored");
  const rerunOne = together<boolean>(rerun, true);

  return {
    ready: guard.ready,
    onHint(listener) {
      const ends = [hints.on(listener), notifyBy ? hearHints(notifyBy, channel, listener) : () => {}];
      return () => {
        for (const end of ends) end();
      };
    },
    put: async (entries) => answered(await Promise.all(entries.map(rowOf).map(putOne))),
    rerun: async (entries) => answered(await Promise.all(entries.map(rowOf).map(ofAnImport).map(rerunOne))),
    take: (options) =>
      run(async (connection) => {
        if (performance.now() >= reapAt) {
          reapAt = performance.now() + reapEveryMs;
          await reap(connection, tables);
        }
        return take(connection, tables, options, settings.laneHeldByDead);
      }),
    extend: (leases, leaseMs) => run((connection) => renew(connection, tables, leases, leaseMs)),
    settle: (settlements) => run((connection) => settle(connection, tables, settlements, settings)),
    transact: (lease, work) =>
      transact(db, guard, work, async (tx) => {
        const [settled = false] = await settle(tx, tables, [{ ...lease, state: "done" }], settings);
        return settled;
      }),
    stats: () => run((connection) => stats(connection, tables)),
    list: (filter = {}, { limit = pageLimit, cursor } = {}) =>
      run((connection) => list(connection, tables, filter, limit, cursor)),
    get: (key) => run((connection) => get(connection, tables, key)),
    async redrive(filter = {}, limit = operatorLimit) {
      const redriven = await run((connection) => redrive(connection, tables, filter, limit));
      if (redriven > 0) hints.give();
      return redriven;
    },
    purge: (limit = operatorLimit) => run((connection) => forget(connection, tables, limit)),
    purgeDead: (filter, limit = operatorLimit) =>
      run((connection) => purgeDead(connection, tables, filter, limit)),
  };
}

function answered<Result>(results: readonly (Result | WebhookError)[]): readonly Result[] {
  for (const result of results) if (WebhookError.is(result)) throw result;
  return results as readonly Result[];
}

/** Rows of one key in one batch: the first one goes in, and is there for the next one to be compared with. */
async function inTurns<Result>(
  rows: readonly PutRow[],
  work: (turn: readonly PutRow[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let left = [...rows.entries()]; left.length > 0; ) {
    const names = new Set<string>();
    const turn = left.filter(([, { entry }]) => names.size < names.add(nameOf(entry)).size);
    for (const [at, result] of (await work(turn.map(([, row]) => row))).entries()) {
      const [index = 0] = turn[at] ?? [];
      results[index] = result;
    }
    const taken = new Set(turn.map(([index]) => index));
    left = left.filter(([index]) => !taken.has(index));
  }
  return results;
}

/** Without its run, nobody could tell whether an event was made ready for it before. */
function ofAnImport(row: PutRow): PutRow {
  if (row.replay !== null) return row;
  throw new WebhookError(
    "invalid_input",
    "An entry that is to run again has no replay.",
    "Give it one, with the name of the run; put() is for what was delivered.",
  );
}

/** SQLSTATE: what was asked cannot be kept as it is, or is too large. */
function isOfTheData(cause: unknown): boolean {
  return /^(?:22|54)/.test(String((cause as { code?: unknown } | undefined)?.code));
}

/** A name for NOTIFY, which must be short. */
function channelOf(schema: string): string {
  return `esim_webhooks_${shortened(schema)}`;
}

function shortened(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Key and lane are in one index together, whose entries have at most 2,704 bytes. */
const longestKeyBytes = 2000;
const longestLaneBytes = 500;

/** Checks an entry at the door: what the database refuses would take its whole batch with it. */
function rowReader({ lane, logger }: SqlInboxSettings): (entry: InboxEntry) => PutRow {
  const logLane = throttledLog(logger.error, monotonicClock);

  function laneOf({ event }: InboxEntry): string | null {
    if (event === null || lane === undefined) return null;
    try {
      const name = lane(event as Parameters<LaneOf>[0]) || null;
      return name !== null && Buffer.byteLength(name) > longestLaneBytes ? shortened(name) : name;
    } catch (err) {
      logLane(
        { err, id: event.id, type: event.type },
        "The lane option threw: the event is stored without a lane.",
      );
      return null;
    }
  }

  return (entry) => {
    const key = `${entry.source}${entry.id}`;
    const isStorable =
      !key.includes("\0") &&
      key.isWellFormed() &&
      Buffer.byteLength(key) <= longestKeyBytes &&
      Number.isFinite(entry.receivedAt.getTime());
    const replay = entry.replay === undefined ? null : storableJson(JSON.stringify(entry.replay));
    if (isStorable) return { entry, lane: laneOf(entry), replay };
    throw new WebhookError(
      "invalid_input",
      "An entry has an id or source with NUL, with half a character or of more than 2,000 bytes, or no valid receivedAt.",
      "Hand in entries as a receiver makes them.",
    );
  };
}
