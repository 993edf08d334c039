import { createHash } from "node:crypto";
import { type EventKey, keyText } from "../event/event.ts";
import { readErrorText } from "../store/error-text.ts";
import { pickFields, shownColumns } from "../store/event-columns.ts";
import { readHistory } from "../store/history.ts";
import type { InboxFilter } from "../store/inbox-admin.ts";
import { type InboxEntry, occurredAtMs, type Replay } from "../store/inbox-entry.ts";
import type { InboxState, StoredEvent } from "../store/stored-event.ts";

/** An event in a memory inbox. Times are in ms since the Unix epoch. */
export interface MemoryRow extends EventKey {
  readonly state: InboxState;
  /** The fence of its last lease. */
  readonly token: string;
  /** When a ready row is due. Leased: since when it was due. */
  readonly dueAt: number;
  /** When the lease of a leased row ends. */
  readonly leasedUntil: number;
  /** When the retention of a done or unhandled row ends. */
  readonly keptUntil: number;
  readonly type: string | null;
  readonly body: Uint8Array | null;
  readonly bodyHash: string;
  readonly receivedAt: Date;
  readonly occurredAt: number;
  readonly lane: string | null;
  readonly attempts: number;
  readonly tries: number;
  /** When its handlers first put it off; null if they have not. */
  readonly waitingSince: number | null;
  /** Whether its last lease ended without a settlement. */
  readonly isSuspect: boolean;
  readonly conflicts: number;
  readonly error: string | null;
  readonly replay: Replay | null;
  /** The imports that made it ready before the one in `replay`. */
  readonly runs: readonly string[];
  readonly subject: string | null;
  readonly key: string | null;
  readonly trace: string | null;
  readonly takenAt: Date | null;
  readonly settledAt: Date | null;
  readonly erasedAt: Date | null;
  /** As JSON text: see `readHistory`. */
  readonly history: string | null;
}

/** The rows of a memory inbox, by key. A row is never changed, only replaced. */
export interface MemoryTable {
  get(key: EventKey): MemoryRow | undefined;
  /** Adds a row, or replaces the one with the same key. Returns the row. */
  write(row: MemoryRow): MemoryRow;
  remove(key: EventKey): void;
  all(): Iterable<MemoryRow>;
  /** The ready and leased rows. */
  pending(): Iterable<MemoryRow>;
  /** When the last delivery was received, even if its row was removed. */
  lastReceivedAt(): Date | null;
}

export function createMemoryTable(): MemoryTable {
  const rows = new Map<string, MemoryRow>();
  const pending = new Map<string, MemoryRow>();
  let lastReceivedAt: Date | null = null;
  return {
    get: (key) => rows.get(keyText(key)),
    write(row) {
      const name = keyText(row);
      rows.set(name, row);
      if (row.replay === null && row.receivedAt > (lastReceivedAt ?? 0)) lastReceivedAt = row.receivedAt;
      if (row.state === "ready" || row.state === "leased") pending.set(name, row);
      else pending.delete(name);
      return row;
    },
    remove(key) {
      rows.delete(keyText(key));
      pending.delete(keyText(key));
    },
    all: () => rows.values(),
    pending: () => pending.values(),
    lastReceivedAt: () => lastReceivedAt,
  };
}

/** A new row, due immediately. */
export function readyRow(
  entry: InboxEntry,
  { lane, subject, now }: Pick<MemoryRow, "lane" | "subject"> & { readonly now: number },
): MemoryRow {
  const { source, id, type, body, receivedAt, replay = null, key = null, trace = null } = entry;
  return {
    source,
    id,
    state: "ready",
    token: "",
    dueAt: now,
    leasedUntil: 0,
    keptUntil: 0,
    type,
    body: Uint8Array.from(body),
    bodyHash: hashOf(body),
    receivedAt: new Date(receivedAt),
    occurredAt: occurredAtMs(entry) ?? receivedAt.getTime(),
    lane,
    attempts: 0,
    tries: 0,
    waitingSince: null,
    isSuspect: false,
    conflicts: 0,
    error: null,
    replay: structuredClone(replay),
    runs: [],
    subject,
    key,
    trace,
    takenAt: null,
    settledAt: null,
    erasedAt: null,
    history: null,
  };
}

export function hashOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

export function matches(row: MemoryRow, filter: InboxFilter): boolean {
  const { state, types, source, ids, idPrefix, since, until, error, expiredBy, dueAfter, subject } = filter;
  return (
    (state === undefined || row.state === state) &&
    (types === undefined || (row.type !== null && types.includes(row.type))) &&
    (source === undefined || row.source === source) &&
    (ids === undefined || ids.includes(row.id)) &&
    (idPrefix === undefined || row.id.startsWith(idPrefix)) &&
    (since === undefined || row.receivedAt >= since) &&
    (until === undefined || row.receivedAt < until) &&
    (error === undefined || (readErrorText(row.error).error?.includes(error) ?? false)) &&
    (expiredBy === undefined || hasExpired(row, expiredBy.getTime())) &&
    (dueAfter === undefined || (row.state === "ready" && row.dueAt > dueAfter.getTime())) &&
    (subject === undefined || row.subject === subject)
  );
}

/** Whether the retention of a done or unhandled row has ended. */
export function hasExpired({ state, keptUntil }: MemoryRow, now: number): boolean {
  return (state === "done" || state === "unhandled") && keptUntil <= now;
}

/** Makes the event that `get` returns, without `heldBy`. */
export function storedEvent(row: MemoryRow): Omit<StoredEvent, "heldBy"> {
  const { state, dueAt, leasedUntil, keptUntil, error, history } = row;
  return {
    ...(pickFields(shownColumns, row) as unknown as Omit<StoredEvent, "heldBy">),
    dueAt: state === "ready" || state === "leased" ? new Date(dueAt) : null,
    leasedUntil: state === "leased" ? new Date(leasedUntil) : null,
    keptUntil: state === "done" || state === "unhandled" ? new Date(keptUntil) : null,
    ...readErrorText(error),
    history: readHistory(history),
  };
}
