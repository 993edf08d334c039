import { setTimeout as wait } from "node:timers/promises";
import type {
  Inbox,
  InboxEntry,
  InboxLease,
  InboxOptions,
  Settlement,
  TakenEvent,
  TakeOptions,
} from "@esim-webhooks/core";
import {
  checkEntry,
  checkRerun,
  createDeliveryNotes,
  createMinuteCounter,
  decodeRunNote,
  encodeRunNote,
  erasedSubject,
  type InboxSettings,
  inboxShape,
  laneReader,
  type OptionsShape,
  occurredAtMs,
  parkAndLog,
  parseOptions,
  publishChanges,
  readCursor,
  readErrorText,
  readHistory,
  readPauses,
  rowChange,
  spreadRetention,
  subjectReader,
  warnOfShortRetention,
  writeCursor,
} from "@esim-webhooks/core/engine";
import { openSqlite } from "./open-sqlite.ts";
import type { ListInput } from "./sql/list.ts";
import { mostParked, type ParkPlace } from "./sql/pause.ts";
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
const truncations = { most: 5, pauseMs: 100 };

/**
 * The inbox in an SQLite file, on the table of `sqliteStore`: an id that was done inline is done here too. `put` resolves
 * once the entries are on the disk; calls of the same time share one sync. Workers of other processes on the same machine
 * learn of new events within 100 ms.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject with `store_unavailable`, `store_full`, or a code of `SqliteErrorCode`.
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const settings = parseOptions("sqliteInbox", shape, options);
  const { retentionMs, keepBodies, laneHeldByDead, bodyRetentionMs, durability, logger } = settings;
  warnOfShortRetention("sqliteInbox", settings);
  const open = openSqlite("sqliteInbox", settings, { bodyRetentionMs });
  const { write, read, hints } = open;
  const laneOf = laneReader(settings, logger);
  const subjectOf = subjectReader(settings, logger);
  const deliveryToNote = createDeliveryNotes();
  const counter = settings.minuteCounts
    ? createMinuteCounter((counts) => write("countMinute", counts))
    : undefined;

  /** For one call: each call spreads its retention separately. */
  function rules(): SettleRules {
    return { retentionMs: spreadRetention(retentionMs), keepBodies };
  }

  let areSourcesIndexed = false;
  let lastSource = "";

  /** Takes for an inbox with `fairBy`. */
  async function takeShares(options: TakeOptions): Promise<readonly TakenEvent[]> {
    if (!areSourcesIndexed) await write("indexSources", undefined);
    areSourcesIndexed = true;
    const { taken, upto } = await write("takeShares", { ...options, laneHeldByDead, after: lastSource });
    lastSource = upto;
    return taken;
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

  /** Empties the log, which may hold what was erased. What cannot be done now, a later erasure or the last process to close the file does. */
  async function truncateLog(): Promise<void> {
    try {
      for (let left = truncations.most; left > 0; left -= 1) {
        if (await read("truncateLog", undefined)) return;
        await wait(truncations.pauseMs);
      }
    } catch (err) {
      logger.warn({ err, code: "log_not_truncated" }, notTruncated);
      return;
    }
    logger.warn({ code: "log_not_truncated" }, notTruncated);
  }

  return {
    capabilities: {
      durable: durability === "full",
      multiProcess: true,
      transactional: true,
      ordered: settings.lane !== undefined,
      ...(settings.fairBy !== undefined && { fairBy: settings.fairBy }),
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
      counter?.put(results);
      hintIf(results.includes("stored"));
      return results;
    },
    async rerun(entries) {
      for (const entry of entries) checkRerun(entry);
      const changed = await write("rerun", { rows: entries.map(putRow) });
      hintIf(changed.includes(true));
      return changed;
    },
    take: (options) =>
      settings.fairBy === undefined || options.suspects
        ? write("take", { ...options, laneHeldByDead })
        : takeShares(options),
    extend: (leases, leaseMs) => write("renew", { leases: leases.map(plainLease), leaseMs }),
    async settle(settlements) {
      const held = await write("settle", { settlements: settlements.map(settlingOf), rules: rules() });
      counter?.settled(settlements, held);
      return held;
    },
    async transact(lease, work) {
      const settling = settlingOf({ ...lease, state: "done" });
      const mark = { by: "inbox", settling, rules: rules() } as const;
      const transacted = await transact(open, mark, work);
      if (transacted === "committed") counter?.settled([settling], [true]);
      return transacted;
    },
    stats: () => read("stats", undefined),
    gauges: () => read("gauges", undefined),
    report: (worker) => write("report", worker),
    workers: () => read("workers", undefined),
    noteRun: (note) => write("noteRun", { kind: note.kind, note: encodeRunNote(note) }),
    runs: async () => (await read("runs", undefined)).map(decodeRunNote),
    minutes: () => read("minutes", undefined),
    count: (filter = {}, most) => read("count", { filter, most }),
    async list(filter = {}, { limit = pageLimit, cursor } = {}) {
      const { rows, next, searchedTo } = await read("list", { filter, limit, after: placeOf(cursor) });
      return {
        rows: rows.map((row) => ({ ...row, error: readErrorText(row.error).error })),
        nextCursor: next === undefined ? null : writeCursor({ ...next, receivedAt: String(next.receivedAt) }),
        searchedTo,
      };
    },
    async get({ source, id }) {
      const row = await read("get", { source, id, laneHeldByDead });
      return row && { ...row, ...readErrorText(row.error), history: readHistory(row.history) };
    },
    paused: () => read("paused", undefined),
    ...publishChanges({
      async redrive({ state = "dead", ...filter } = {}, limit = operatorLimit) {
        const redriven = await write("redrive", { filter: { ...filter, state }, limit });
        hintIf(redriven > 0);
        return redriven;
      },
      purge: (limit = operatorLimit) => open.purge(limit),
      purgeDead: (filter, limit = operatorLimit) =>
        write("purgeDead", { filter: { ...filter, state: "dead" }, limit }),
      async pause(options) {
        await write("pause", { pauses: readPauses(options) });
        await parkAndLog(logger, async () => {
          for (let after: ParkPlace | undefined; ; ) {
            after = await write("park", { after }); // a call each, so that others write in between
            if (after === undefined) return;
          }
        });
      },
      async resume({ types } = {}) {
        const ended = await write("resume", { types });
        await parkAndLog(logger, async () => {
          while ((await write("releaseParked", { limit: mostParked })) === mostParked);
        });
        hintIf(ended.length > 0);
        return ended;
      },
      async erase(subject, limit = operatorLimit) {
        const replacement = erasedSubject(subject);
        const keptMs = spreadRetention(retentionMs);
        const erased = await write("erase", { subject, replacement, limit, retentionMs: keptMs });
        hintIf(erased.ready + erased.leased > 0); // their lanes are free
        await truncateLog();
        return erased;
      },
    }),
    async close() {
      await counter?.close();
      await open.close();
    },
  };
}

const notTruncated =
  "The log of the file may still hold what was erased, since another process is reading it. Erase again, or stop all processes that use the file.";

/** A lease or a settlement may have more fields, such as its event, which need not cross to the writer. */
function plainLease({ source, id, token }: InboxLease): InboxLease {
  return { source, id, token };
}

function settlingOf(settlement: Settlement): Settling {
  const { source, id, token, state } = settlement;
  const lease = { source, id, token, state, change: rowChange(settlement) };
  return state === "given_back" && settlement.started ? { ...lease, started: true } : lease;
}

function placeOf(cursor: string | undefined): ListInput["after"] {
  if (cursor === undefined) return undefined;
  const { receivedAt, source, id } = readCursor(cursor);
  return { source, id, receivedAt: Number(receivedAt) };
}
