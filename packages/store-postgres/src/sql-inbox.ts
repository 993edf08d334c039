import { type Inbox, type InboxEntry, type Logger, type PutResult, WebhookError } from "@esim-webhooks/core";
import { coalesce, steadyClock, throttledLog } from "@esim-webhooks/core/store";
import { type Kysely, type PostgresPool, sql, type Transaction } from "kysely";
import { createHints, hearHints } from "./hints.ts";
import type { InboxSettings, LaneOf } from "./inbox-options.ts";
import type { OpenTables } from "./postgres-database.ts";
import { runOn } from "./run-on.ts";
import { forget } from "./sql/forget.ts";
import { get, list, purgeDead, redrive, stats } from "./sql/operate.ts";
import { nameOf, type PutRow, put } from "./sql/put.ts";
import { renew, type SettleRules, settle } from "./sql/settle.ts";
import { reap, take } from "./sql/take.ts";
import type { Tables } from "./tables.ts";
import { transact } from "./transact.ts";

export type SqlInboxSettings = InboxSettings & SettleRules & { readonly logger: Logger };

const gathered = { maxItems: 500, maxFlushes: 2 };
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
  const channel = `${tables.schema}_inbox`;
  let reapAt = 0;

  const putOne = coalesce(async (rows: readonly PutRow[]) => {
    const results = await run(async (connection) => {
      const put = await putInTurns(connection, tables, rows);
      if (notifyBy && put.includes("stored")) await sql`select pg_notify(${channel}, '')`.execute(connection);
      return put;
    });
    if (results.includes("stored")) hints.give();
    return results;
  }, gathered);

  return {
    ready: guard.ready,
    onHint(listener) {
      const ends = [hints.on(listener), notifyBy ? hearHints(notifyBy, channel, listener) : () => {}];
      return () => {
        for (const end of ends) end();
      };
    },
    put: async (entries) => Promise.all(entries.map(rowOf).map(putOne)),
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

/** Entries of one key in one batch: the first one goes in, and is there for the next one to be compared with. */
async function putInTurns(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<PutResult[]> {
  const results: PutResult[] = [];
  for (let left = [...rows.entries()]; left.length > 0; ) {
    const names = new Set<string>();
    const turn = left.filter(([, { entry }]) => names.size < names.add(nameOf(entry)).size);
    const turnRows = turn.map(([, row]) => row);
    for (const [at, result] of (await put(db, tables, turnRows)).entries()) {
      const [index = 0] = turn[at] ?? [];
      results[index] = result;
    }
    const taken = new Set(turn.map(([index]) => index));
    left = left.filter(([index]) => !taken.has(index));
  }
  return results;
}

const longestKeyBytes = 2000;
const longestLane = 500;

/** Checks an entry at the door: what the database refuses would take its whole batch with it. */
function rowReader({ lane, logger }: SqlInboxSettings): (entry: InboxEntry) => PutRow {
  const logLane = throttledLog(logger.error, steadyClock);

  function laneOf({ event }: InboxEntry): string | null {
    if (event === null || lane === undefined) return null;
    try {
      return lane(event as Parameters<LaneOf>[0])?.slice(0, longestLane) || null;
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
      Buffer.byteLength(key) <= longestKeyBytes &&
      Number.isFinite(entry.receivedAt.getTime());
    if (isStorable) return { entry, lane: laneOf(entry) };
    throw new WebhookError(
      "invalid_input",
      "An entry has an id or source with NUL or of more than 2,000 bytes, or no valid receivedAt.",
      "Hand in entries as a receiver makes them.",
    );
  };
}
