import {
  type Inbox,
  type InboxEntry,
  type InboxRoleName,
  type Logger,
  type PutResult,
  WebhookError,
} from "@esim-webhooks/core";
import {
  checkEntry,
  checkRerun,
  coalesce,
  type InboxSettings,
  keyText,
  laneReader,
} from "@esim-webhooks/core/kit";
import { type Kysely, type PostgresPool, sql, type Transaction } from "kysely";
import { createHints, listenForHints } from "./database/hints.ts";
import type { OpenTables } from "./database/postgres-database.ts";
import { runOn } from "./database/run-on.ts";
import type { Tables } from "./database/tables.ts";
import { transact } from "./database/transact.ts";
import { count, get, list, purgeDead, redrive, stats } from "./sql/admin.ts";
import { forget } from "./sql/forget.ts";
import { put } from "./sql/put.ts";
import { type PutRow, shortened, storableJson, storableLane } from "./sql/put-rows.ts";
import { rerun } from "./sql/rerun.ts";
import { renew, type SettleRules, settle } from "./sql/settle.ts";
import { reap, take } from "./sql/take.ts";

export type SqlInboxSettings = InboxSettings & SettleRules & { readonly logger: Logger };

const batching = {
  maxItems: 500,
  maxFlushes: 2,
  maxSize: 8 * 1024 * 1024,
  sizeOf: ({ entry, replay }: PutRow) => entry.body.byteLength + (replay?.length ?? 0),
};
const reapEveryMs = 1000;
const operatorLimit = 1000;
const pageLimit = 50;

export const inboxRoles: readonly InboxRoleName[] = ["writer", "queue", "admin", "rerun"];

/** The operations of the inbox. */
export function createSqlInbox<Database>(
  { db, guard, tables }: Omit<OpenTables<Database>, "close">,
  settings: SqlInboxSettings,
  notifyPool?: PostgresPool,
): Omit<Inbox<Transaction<Database>>, "capabilities" | "close" | "transact"> &
  Required<Pick<Inbox<Transaction<Database>>, "transact" | "onHint">> {
  const run = runOn(db, guard);
  const putRow = rowReader(settings, checkEntry);
  const rerunRow = rowReader(settings, checkRerun);
  const hints = createHints();
  const channel = channelOf(tables.schema);
  let reapAt = 0;

  /** Wakes workers in this process and, with notify, in others. */
  function announce(): void {
    hints.give();
    if (notifyPool)
      run((connection) => sql`select pg_notify(${channel}, '')`.execute(connection)).catch(() => {});
  }

  /** Batches concurrent calls. If the database refuses a row, the batch is repeated row by row, so that the others succeed. */
  function batched<Result>(
    work: (db: Kysely<unknown>, tables: Tables, rows: readonly PutRow[]) => Promise<Result[]>,
    becameReady: Result,
  ): (row: PutRow) => Promise<Result | WebhookError> {
    const all = (rows: readonly PutRow[]) =>
      run((connection) => inTurns(rows, (turn) => work(connection, tables, turn)));
    const one = (row: PutRow) =>
      all([row]).then(
        ([result = becameReady]) => result,
        (error: WebhookError) => error,
      );
    const rowByRow = (rows: readonly PutRow[], error: unknown) => {
      if (!WebhookError.is(error) || !isFaultOfData(error.cause)) throw error;
      return Promise.all(rows.map(one));
    };
    return coalesce(async (rows: readonly PutRow[]) => {
      const results: readonly unknown[] = await all(rows).catch((error: unknown) => rowByRow(rows, error));
      if (results.includes(becameReady)) announce();
      return results as readonly (Result | WebhookError)[];
    }, batching);
  }

  const putOne = batched<PutResult>(put, "stored");
  const rerunOne = batched<boolean>(rerun, true);

  return {
    ready: guard.ready,
    onHint(listener) {
      const subscriptions = [
        hints.on(listener),
        notifyPool ? listenForHints(notifyPool, channel, listener) : () => {},
      ];
      return () => {
        for (const unsubscribe of subscriptions) unsubscribe();
      };
    },
    put: async (entries) => answered(await Promise.all(entries.map(putRow).map(putOne))),
    rerun: async (entries) => answered(await Promise.all(entries.map(rerunRow).map(rerunOne))),
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
    count: (filter = {}) => run((connection) => count(connection, tables, filter)),
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

/** Works a batch in turns if it has several rows of one key, so that the second is compared with the first. */
async function inTurns<Result>(
  rows: readonly PutRow[],
  work: (turn: readonly PutRow[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let left = [...rows.entries()]; left.length > 0; ) {
    const names = new Set<string>();
    const turn = left.filter(([, { entry }]) => names.size < names.add(keyText(entry)).size);
    for (const [at, result] of (await work(turn.map(([, row]) => row))).entries()) {
      const [index = 0] = turn[at] ?? [];
      results[index] = result;
    }
    const taken = new Set(turn.map(([index]) => index));
    left = left.filter(([index]) => !taken.has(index));
  }
  return results;
}

/** Whether the SQLSTATE says that the data is invalid or too large. */
function isFaultOfData(cause: unknown): boolean {
  return /^(?:22|54)/.test(String((cause as { code?: unknown } | undefined)?.code));
}

/** The channel of NOTIFY, whose name must be short. */
function channelOf(schema: string): string {
  return `esim_webhooks_${shortened(schema)}`;
}

/** Returns a function that checks an entry and makes its row. An invalid entry would otherwise fail its whole batch. */
function rowReader(
  settings: SqlInboxSettings,
  check: (entry: InboxEntry) => void,
): (entry: InboxEntry) => PutRow {
  const laneOf = laneReader(settings, settings.logger);
  return (entry) => {
    check(entry);
    return {
      entry,
      lane: storableLane(laneOf(entry)),
      replay: entry.replay === undefined ? null : storableJson(JSON.stringify(entry.replay)),
    };
  };
}
