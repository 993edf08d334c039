import type { Inbox, InboxEntry, InboxOptions } from "@esim-webhooks/core";
import {
  checkEntry,
  checkRerun,
  createDeliveryNotes,
  createLaneVisits,
  createMinuteCounter,
  encodeStep,
  type InboxSettings,
  inboxShape,
  laneReader,
  type OptionsShape,
  parseOptions,
  publishChanges,
  readGiveUp,
  readPauses,
  type StoreOptions,
  safePurge,
  storeShape,
  subjectReader,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import { sql, type Transaction } from "kysely";
import * as z from "zod/mini";
import { batched } from "./batched.ts";
import { createHints, listenable } from "./database/hints.ts";
import type { Work } from "./database/own-transaction.ts";
import {
  openPostgres,
  type PostgresOptions,
  type PostgresSettings,
  postgresShape,
} from "./database/postgres-database.ts";
import { transact } from "./database/transact.ts";
import {
  type TransactionOptions,
  type TransactionSettings,
  transactionForm,
  transactionShape,
} from "./database/transaction-form.ts";
import { count, get, giveUp, purgeDead, redrive, sources, stats } from "./sql/admin.ts";
import { erase } from "./sql/erase.ts";
import { purgeSteps } from "./sql/forget.ts";
import { gauges, noteDelivery } from "./sql/gauges.ts";
import { list } from "./sql/list.ts";
import { addMinute, minutes } from "./sql/minutes.ts";
import { letGoAndHold, mostLetGo, pause, paused, resume } from "./sql/pauses.ts";
import { put, rerun } from "./sql/put.ts";
import { type PutRow, putRow, shortened } from "./sql/put-rows.ts";
import { noteRun, runs } from "./sql/runs.ts";
import { renew, settle } from "./sql/settle.ts";
import { reap, take } from "./sql/take.ts";
import { tryEvents } from "./sql/try-out.ts";
import { report, workers } from "./sql/workers.ts";

export interface PostgresInboxOptions<Database = unknown, Tx = Transaction<Database>>
  extends PostgresOptions<Database>,
    TransactionOptions<Tx>,
    StoreOptions,
    InboxOptions {
  /**
   * Wake workers in other processes immediately when there is work (LISTEN and NOTIFY). Each worker then holds a connection of
   * the pool, and a transaction pooler does not work. Default false: workers find it at their next poll.
   */
  notify?: boolean;
}

export interface PostgresInbox<Database = unknown, Tx = Transaction<Database>> extends Inbox<Tx> {
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
  /** The server's time. Works before the migrations were run, too. */
  now(): Promise<Date>;
}

const reapEveryMs = 1000;
const operatorLimit = 1000;
const pageLimit = 50;

const shape: OptionsShape<
  PostgresSettings & Required<StoreOptions> & TransactionSettings & InboxSettings & { notify: boolean }
> = {
  ...postgresShape,
  ...storeShape,
  ...transactionShape,
  ...inboxShape,
  notify: z._default(z.boolean(), false),
};

/**
 * The inbox on Postgres 12 or newer, for any number of processes. It shares a table with `postgresStore`, so an id that was
 * done inline is done here too. `put` resolves after the commit; concurrent calls share one commit.
 *
 * Throws `invalid_option`. Operations reject as `Inbox` says, or with `store_full` or a code of `PostgresErrorCode`, such as
 * `migration_missing` until `migrate()` was run.
 */
export function postgresInbox<Database = unknown, Tx = Transaction<Database>>(
  options: PostgresInboxOptions<Database, Tx>,
): PostgresInbox<Database, Tx> {
  const settings = parseOptions("postgresInbox", shape, options);
  warnOfShortRetention("postgresInbox", settings);
  const database = openPostgres("postgresInbox", options, settings, tryEvents);
  const { db, pool, guard, run, tables, isDurable, place, migrate, now, close } = database;
  const { timeoutMs, laneHeldByDead } = settings;
  const form = transactionForm("postgresInbox", options);
  const notify = settings.notify
    ? { pool: listenable(pool), channel: `esim_webhooks_${shortened(tables.schema)}`, send: notifyOthers }
    : undefined;
  const laneOf = laneReader(settings, settings.logger);
  const subjectOf = subjectReader(settings, settings.logger);
  const purge = safePurge("postgresInbox", settings.logger, purgeSteps(database, settings.bodyRetentionMs));
  const deliveryToNote = createDeliveryNotes();
  const counter = settings.minuteCounts
    ? createMinuteCounter((counts) => run((connection) => addMinute(connection, tables, counts)))
    : undefined;
  const hints = createHints(notify);
  const unawaited = new Set<Promise<void>>();
  let reapAt = 0;
  const visits = createLaneVisits(hints.give);

  /** Runs an operation that no caller waits for, and whose failure loses nothing. `close` waits for it. */
  function inBackground(operation: Work<unknown>): void {
    const ended = run(operation).then(
      () => void unawaited.delete(ended),
      () => void unawaited.delete(ended),
    );
    unawaited.add(ended);
  }

  function notifyOthers(channel: string): void {
    inBackground((connection) => sql`select pg_notify(${channel}, '')`.execute(connection));
  }

  /** Checks an entry and makes its row. An invalid entry would otherwise fail its whole batch. */
  function rowOf(entry: InboxEntry, check: (entry: InboxEntry) => void): PutRow {
    check(entry);
    return putRow(entry, laneOf(entry), subjectOf(entry));
  }

  const putRows = batched((rows) => put(database, rows, hints.announce));
  const rerunRows = batched(async (rows) => {
    const results = await run((connection) => rerun(connection, tables, rows));
    if (results.includes(true)) hints.announce();
    return results;
  });

  return {
    capabilities: {
      roles: ["writer", "queue", "admin", "rerun"],
      get durable() {
        return isDurable();
      },
      multiProcess: true,
      transactional: true,
      ordered: settings.lane !== undefined,
      retentionMs: settings.retentionMs,
    },
    ready: guard.ready,
    onHint: hints.on,
    async put(entries) {
      const results = await putRows(entries.map((entry) => rowOf(entry, checkEntry)));
      counter?.put(results);
      const receivedAt = deliveryToNote(entries);
      if (receivedAt !== undefined)
        inBackground((connection) => noteDelivery(connection, tables, receivedAt)); // if this fails, a later delivery is noted
      return results;
    },
    rerun: async (entries) => rerunRows(entries.map((entry) => rowOf(entry, checkRerun))),
    take: (options) =>
      run(async (connection) => {
        if (performance.now() >= reapAt) {
          reapAt = performance.now() + reapEveryMs;
          await reap(connection, tables);
          if ((await letGoAndHold(connection, tables)) === mostLetGo) reapAt = 0; // there may be more
        }
        const after = visits.after(options);
        const { taken, visit } = await take(connection, tables, options, laneHeldByDead, after);
        if (after !== null) visits.note(options, visit);
        return taken;
      }),
    extend: (leases, leaseMs) => run((connection) => renew(connection, tables, leases, leaseMs)),
    async settle(settlements) {
      const held = await run((connection) => settle(connection, tables, settlements, settings));
      counter?.settled(settlements, held);
      return held;
    },
    async transact(lease, work) {
      const done = [{ ...lease, state: "done" }] as const;
      const transacted = await transact({ db, guard, timeoutMs, form }, work, async (tx) => {
        const [held = false] = await settle(tx, tables, done, settings);
        return held;
      });
      if (transacted === "committed") counter?.settled(done, [true]);
      return transacted;
    },
    stats: () => run((connection) => stats(connection, tables, laneHeldByDead)),
    gauges: () => run((connection) => gauges(connection, tables, laneHeldByDead)),
    report: (worker) => run((connection) => report(connection, tables, worker)),
    workers: () => run((connection) => workers(connection, tables)),
    noteRun: (note) => run((connection) => noteRun(connection, tables, note)),
    runs: () => run((connection) => runs(connection, tables)),
    minutes: () => run((connection) => minutes(connection, tables)),
    count: (filter = {}, most = Number.POSITIVE_INFINITY) =>
      run((connection) => count(connection, tables, filter, most)),
    list: (filter = {}, { limit = pageLimit, cursor } = {}) =>
      run((connection) => list(connection, tables, filter, limit, cursor)),
    get: (key) => run((connection) => get(connection, tables, key, laneHeldByDead)),
    paused: () => run((connection) => paused(connection, tables)),
    ...publishChanges({
      async redrive(filter = {}, limit = operatorLimit, by) {
        const step = encodeStep("retried", by ?? null);
        const redriven = await run((connection) => redrive(connection, tables, filter, limit, step));
        if (redriven > 0) hints.announce();
        return redriven;
      },
      async giveUp(filter, options, limit = operatorLimit) {
        const how = readGiveUp(options);
        const givenUp = await run((connection) => giveUp(connection, tables, filter, how, limit));
        counter?.gaveUp(givenUp.events);
        if (givenUp.events > 0) hints.announce(); // the next events of their lanes may be due
        return givenUp;
      },
      purge: (limit = operatorLimit) => purge(limit),
      purgeDead: (filter, limit = operatorLimit) =>
        run((connection) => purgeDead(connection, tables, filter, limit)),
      pause: async (options) => pause(database, readPauses(options), settings.logger),
      async resume({ types } = {}) {
        const ended = await resume(database, types, settings.logger);
        if (ended.length > 0) hints.announce();
        return ended;
      },
      async erase(subject, limit = operatorLimit) {
        const erased = await erase(database, subject, limit, settings.retentionMs);
        if (erased.ready + erased.leased > 0) hints.announce(); // the next events of their lanes may be due
        return erased;
      },
    }),
    sources: () => run((connection) => sources(connection, tables)),
    place,
    migrate,
    now,
    async close() {
      await counter?.close();
      await Promise.all(unawaited);
      await close();
    },
  };
}
