import type { EventKey, Inbox, InboxEntry, InboxLease, InboxOptions, Settlement } from "@esim-webhooks/core";
import {
  checkEntry,
  checkRerun,
  createDeliveryNotes,
  encodeAttempt,
  type InboxSettings,
  inboxShape,
  laneReader,
  type OptionsShape,
  occurredAtMs,
  parseOptions,
  readCursor,
  readErrorText,
  readHistory,
  spreadRetention,
  subjectOf,
  warnOfShortRetention,
  writeCursor,
} from "@esim-webhooks/core/kit";
import { openSqlite } from "./open-sqlite.ts";
import type { ListInput } from "./sql/list.ts";
import type { PutRow } from "./sql/put.ts";
import type { SettleRules, Settling } from "./sql/settle.ts";
import { type SqliteOptions, type SqliteSettings, sqliteShape } from "./sqlite-options.ts";
import { type SqliteTransaction, transact } from "./transact.ts";

export interface SqliteInboxOptions extends SqliteOptions, InboxOptions {}

/** An inbox with all roles, for any number of processes on one machine. */
export type SqliteInbox = Inbox<SqliteTransaction> &
  Required<Pick<Inbox<SqliteTransaction>, "transact" | "onHint" | "migrate">>;

const shape: OptionsShape<SqliteSettings & InboxSettings> = { ...sqliteShape, ...inboxShape };

const operatorLimit = 1000;
const pageLimit = 50;

/**
 * The inbox in an SQLite file, on the table of `sqliteStore`: an id that was done inline is done here too. `put` resolves
 * once the entries are on the disk; calls of the same time share one sync. Workers of other processes on the same machine
 * learn of new events within 100 ms.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject with `store_unavailable`, `store_full`, or a code of `SqliteErrorCode`.
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const settings = parseOptions("sqliteInbox", shape, options);
  const { retentionMs, keepBodies, laneHeldByDead, durability, logger } = settings;
  warnOfShortRetention("sqliteInbox", settings);
  const open = openSqlite("sqliteInbox", settings);
  const { write, read, hints } = open;
  const laneOf = laneReader(settings, logger);
  const deliveryToNote = createDeliveryNotes();

  /** For one call: each call spreads its retention separately. */
  function rules(): SettleRules {
    return { retentionMs: spreadRetention(retentionMs), keepBodies };
  }

  /** A checked entry, as it crosses to the writer. */
  function putRow(entry: InboxEntry): PutRow {
    const { source, id, type, body, receivedAt, replay, key = null, trace = null } = entry;
    return {
      source,
      id,
      type,
      receivedAt: receivedAt.getTime(),
      occurredAt: occurredAtMs(entry),
      lane: laneOf(entry),
      body,
      replay: replay === undefined ? null : JSON.stringify(replay),
      rebuilt: replay?.rebuilt ?? false,
      subject: subjectOf(entry),
      key,
      trace,
    };
  }

  /** Workers of this process need not wait until the writer notices that the file has changed. */
  function hintIf(isSo: boolean): void {
    if (isSo) hints.give();
  }

  return {
    capabilities: {
      durable: durability === "full",
      multiProcess: true,
      transactional: true,
      ordered: settings.lane !== undefined,
      retentionMs,
      roles: ["writer", "queue", "admin", "rerun"],
    },
    place: `the file ${settings.path}`,
    ready: open.ready,
    migrate: open.migrate,
    sources: () => read("sources", undefined),
    onHint: hints.on,
    async put(entries) {
      for (const entry of entries) checkEntry(entry);
      const lastDelivery = deliveryToNote(entries)?.getTime();
      const results = await write("put", {
        rows: entries.map(putRow),
        ...(lastDelivery !== undefined && { lastDelivery }),
      });
      hintIf(results.includes("stored"));
      return results;
    },
    async rerun(entries) {
      for (const entry of entries) checkRerun(entry);
      const changed = await write("rerun", { rows: entries.map(putRow) });
      hintIf(changed.includes(true));
      return changed;
    },
    take: (options) => write("take", { ...options, laneHeldByDead }),
    extend: (leases, leaseMs) => write("renew", { leases: leases.map(plainLease), leaseMs }),
    settle: (settlements) =>
      write("settle", { settlements: settlements.map(plainSettlement), rules: rules() }),
    transact: (lease, work) => transact(open, { by: "inbox", ...keyAndToken(lease), rules: rules() }, work),
    stats: () => read("stats", undefined),
    gauges: () => read("gauges", undefined),
    report: (worker) => write("report", worker),
    workers: () => read("workers", undefined),
    count: (filter = {}) => read("count", { filter }),
    async list(filter = {}, { limit = pageLimit, cursor } = {}) {
      const { rows, isLast } = await read("list", { filter, limit, after: placeOf(cursor) });
      const last = rows.at(-1);
      const nextCursor =
        isLast || last === undefined ? null : writeCursor({ ...last, receivedAt: timeText(last.receivedAt) });
      return { rows: rows.map((row) => ({ ...row, error: readErrorText(row.error).error })), nextCursor };
    },
    async get({ source, id }) {
      const row = await read("get", { source, id });
      return row && { ...row, ...readErrorText(row.error), history: readHistory(row.history) };
    },
    async redrive({ state = "dead", ...filter } = {}, limit = operatorLimit) {
      const redriven = await write("redrive", { filter: { ...filter, state }, limit });
      hintIf(redriven > 0);
      return redriven;
    },
    purge: (limit = operatorLimit) => open.purge(limit),
    purgeDead: (filter, limit = operatorLimit) =>
      write("purgeDead", { filter: { ...filter, state: "dead" }, limit }),
    close: open.close,
  };
}

function keyAndToken({ source, id, token }: InboxLease): { key: EventKey; token: string } {
  return { key: { source, id }, token };
}

/** A lease or a settlement may have more fields, such as its event, which need not cross to the writer. */
function plainLease({ source, id, token }: InboxLease): InboxLease {
  return { source, id, token };
}

function plainSettlement(settlement: Settlement): Settling {
  const lease = plainLease(settlement);
  const attempt = "report" in settlement && { attempt: encodeAttempt(settlement.report) };
  switch (settlement.state) {
    case "ready":
    case "waiting":
      return {
        ...lease,
        state: settlement.state,
        afterMs: settlement.afterMs,
        error: settlement.error,
        ...attempt,
      };
    case "dead":
      return { ...lease, state: "dead", error: settlement.error, ...attempt };
    default:
      return { ...lease, state: settlement.state };
  }
}

function timeText(time: Date | null): string | null {
  return time === null ? null : String(time.getTime());
}

function placeOf(cursor: string | undefined): ListInput["after"] {
  if (cursor === undefined) return undefined;
  const { receivedAt, source, id } = readCursor(cursor);
  return { source, id, receivedAt: receivedAt === null ? null : Number(receivedAt) };
}
