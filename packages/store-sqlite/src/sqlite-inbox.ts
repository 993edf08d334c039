import { crc32 } from "node:zlib";
import type { Inbox, InboxEntry, InboxLease, InboxOptions, Settlement } from "@esim-webhooks/core";
import {
  checkEntry,
  checkRerun,
  createDeliveryNotes,
  createLaneVisits,
  createMinuteCounter,
  decodeRunNote,
  encodeRunNote,
  encodeStep,
  erasedSubject,
  gaugesOf,
  holdAndLog,
  type InboxSettings,
  inboxRow,
  inboxShape,
  laneReader,
  type OptionsShape,
  occurredAtMs,
  parseOptions,
  publishChanges,
  readCursor,
  readGiveUp,
  readPauses,
  rowChange,
  spreadRetention,
  storedEvent,
  subjectReader,
  warnOfShortRetention,
  writeCursor,
} from "@esim-webhooks/core/engine";
import { entryColumns, listed, shown } from "./columns.ts";
import { openSqlite } from "./open-sqlite.ts";
import type { ListInput } from "./sql/list.ts";
import { type HoldPlace, mostLetGo } from "./sql/pause.ts";
import type { PutRow } from "./sql/put.ts";
import type { SettleRules, Settling } from "./sql/settle.ts";
import { type SqliteOptions, type SqliteSettings, sqliteShape } from "./sqlite-options.ts";
import { type SqliteTransaction, transact } from "./transact.ts";

export interface SqliteInboxOptions extends SqliteOptions, InboxOptions {}

/** An inbox with all roles, for any number of processes on one machine. */
export type SqliteInbox = Inbox<SqliteTransaction> &
  Required<Pick<Inbox<SqliteTransaction>, "transact" | "onHint" | "migrate">> & {
    /** The absolute path of its file. */
    readonly path: string;
  };

const shape: OptionsShape<SqliteSettings & InboxSettings> = { ...sqliteShape, ...inboxShape };

const holdEveryMs = 1000;
const operatorLimit = 1000;
const pageLimit = 50;

/**
 * The inbox in an SQLite file, on the table of `sqliteStore`: an id that was done inline is done here too. `put` resolves
 * once the entries are committed and, with the durability `full`, on the disk; concurrent calls share one sync. Workers of other
 * processes on the same machine usually learn of new events within 100 ms.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject as `Inbox` says, or with `store_full` or a code of `SqliteErrorCode`.
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const settings = parseOptions("sqliteInbox", shape, options);
  const { retentionMs, keepBodies, laneHeldByDead, bodyRetentionMs, durability, logger } = settings;
  warnOfShortRetention("sqliteInbox", settings);
  const open = openSqlite("sqliteInbox", settings, { bodyRetentionMs });
  const { inWriter, inReader, hints } = open;
  const laneOf = laneReader(settings, logger);
  const subjectOf = subjectReader(settings, logger);
  const deliveryToNote = createDeliveryNotes();
  const counter = settings.minuteCounts
    ? createMinuteCounter((counts) => inWriter("countMinute", counts))
    : undefined;

  /** Returns the rules for one call. Their retention differs from call to call. */
  function rules(): SettleRules {
    return { retentionMs: spreadRetention(retentionMs), keepBodies };
  }

  const visits = createLaneVisits(hints.give);
  let holdAt = 0;

  /** Returns a checked entry as it is sent to the writer. */
  function putRow(entry: InboxEntry): PutRow {
    const { source, id, type, body, receivedAt, replay, key = null, trace = null } = entry;
    return {
      ...{ source, id, type, lane: laneOf(entry), subject: subjectOf(entry), key, trace },
      replay: replay === undefined ? null : JSON.stringify(replay),
      rebuilt: replay?.rebuilt ?? false,
      fingerprint: crc32(body), // enough to distinguish two bodies of one authentic id: the sender does not look for a collision
      receivedAt: receivedAt.getTime(),
      occurredAt: occurredAtMs(entry),
      body,
    };
  }

  /** Wakes the workers of this process, if `isSo`. The watch of the file reports only what other processes write. */
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
    path: settings.path,
    ready: open.ready,
    migrate: open.migrate,
    sources: () => inReader("sources", undefined),
    onHint: hints.on,
    async put(entries) {
      for (const entry of entries) checkEntry(entry);
      const lastDelivery = deliveryToNote(entries)?.getTime();
      const results = await inWriter("put", {
        ...{ rows: entries.map(putRow), columns: entryColumns },
        ...(lastDelivery !== undefined && { lastDelivery }),
      });
      counter?.put(results);
      hintIf(results.includes("stored"));
      return results;
    },
    async rerun(entries) {
      for (const entry of entries) checkRerun(entry);
      const changed = await inWriter("rerun", { rows: entries.map(putRow), columns: entryColumns });
      hintIf(changed.includes(true));
      return changed;
    },
    async take(options) {
      if (performance.now() >= holdAt) {
        holdAt = performance.now() + holdEveryMs;
        await inWriter("holdMissed", undefined);
      }
      const after = visits.after(options);
      const { events, visit } = await inWriter("take", { ...options, laneHeldByDead, after });
      if (after !== null) visits.note(options, visit);
      return events;
    },
    extend: (leases, leaseMs) => inWriter("renew", { leases: leases.map(plainLease), leaseMs }),
    async settle(settlements) {
      const held = await inWriter("settle", { settlements: settlements.map(settlingOf), rules: rules() });
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
    stats: () => inReader("stats", { laneHeldByDead }),
    gauges: async () => gaugesOf(await inReader("gauges", { laneHeldByDead })),
    report: (worker) => inWriter("report", worker),
    workers: () => inReader("workers", undefined),
    noteRun: (note) => inWriter("noteRun", { kind: note.kind, note: encodeRunNote(note) }),
    runs: async () => (await inReader("runs", undefined)).map(decodeRunNote),
    minutes: () => inReader("minutes", undefined),
    count: (filter = {}, most) => inReader("count", { filter, most }),
    async list(filter = {}, { limit = pageLimit, cursor } = {}) {
      const { rows, next } = await inReader("list", {
        columns: listed,
        filter,
        limit,
        after: cursorPlace(cursor),
      });
      return {
        rows: rows.map(inboxRow),
        nextCursor: next === undefined ? null : writeCursor({ ...next, receivedAt: String(next.receivedAt) }),
        searchedTo: next === undefined ? null : new Date(next.receivedAt),
      };
    },
    async get({ source, id }) {
      const found = await inReader("get", { source, id, columns: shown, laneHeldByDead });
      return found && storedEvent(found.row, found.heldBy);
    },
    paused: () => inReader("paused", undefined),
    ...publishChanges({
      async redrive({ state = "dead", ...filter } = {}, limit = operatorLimit, by) {
        const step = encodeStep("retried", by ?? null);
        const redriven = await inWriter("redrive", { filter: { ...filter, state }, limit, step });
        hintIf(redriven > 0);
        return redriven;
      },
      async giveUp(filter, options, limit = operatorLimit) {
        const given = { filter: { ...filter, state: "ready" as const }, limit, ...readGiveUp(options) };
        const givenUp = await inWriter("giveUp", given);
        counter?.gaveUp(givenUp.events);
        hintIf(givenUp.events > 0); // the next events of their lanes may be due
        return givenUp;
      },
      purge: (limit = operatorLimit) => open.purge(limit),
      purgeDead: (filter, limit = operatorLimit) =>
        inWriter("purgeDead", { filter: { ...filter, state: "dead" }, limit }),
      async pause(options) {
        await inWriter("pause", { pauses: readPauses(options) });
        await holdAndLog(logger, async () => {
          for (let after: HoldPlace | undefined; ; ) {
            after = await inWriter("hold", { after }); // several calls, so that others can write in between
            if (after === undefined) return;
          }
        });
      },
      async resume({ types } = {}) {
        const ended = await inWriter("resume", { types });
        await holdAndLog(logger, async () => {
          while ((await inWriter("letGo", undefined)) === mostLetGo);
        });
        hintIf(ended.length > 0);
        return ended;
      },
      async erase(subject, limit = operatorLimit) {
        const replacement = erasedSubject(subject);
        const keptMs = spreadRetention(retentionMs);
        const erased = await inWriter("erase", { subject, replacement, limit, retentionMs: keptMs });
        hintIf(erased.ready + erased.leased > 0); // the next events of their lanes may be due
        await open.truncateLog();
        return erased;
      },
    }),
    async close() {
      await counter?.close();
      await open.close();
    },
  };
}

/** Returns only the fields that the writer needs: a worker's lease also has the event. */
function plainLease({ source, id, token }: InboxLease): InboxLease {
  return { source, id, token };
}

function settlingOf(settlement: Settlement): Settling {
  const { source, id, token, state } = settlement;
  const lease = { source, id, token, state, change: rowChange(settlement) };
  return state === "given_back" && settlement.started ? { ...lease, started: true } : lease;
}

function cursorPlace(cursor: string | undefined): ListInput["after"] {
  if (cursor === undefined) return undefined;
  const { receivedAt, source, id } = readCursor(cursor, (ms) => /^-?\d{1,15}$/.test(ms));
  return { source, id, receivedAt: Number(receivedAt) };
}
