import type { Clock } from "../base/clock.ts";
import { rowChange, type StoredEnding } from "../store/ending.ts";
import { leaseEnded, withAttempt } from "../store/history.ts";
import type { InboxSettings } from "../store/inbox-options.ts";
import type { InboxLease, Settlement, TakenEvent, TakeOptions } from "../store/inbox-queue.ts";
import { spreadRetention } from "../store/store-options.ts";
import { freeLanes, lanesOf } from "./memory-lanes.ts";
import type { MemoryPauses } from "./memory-pauses.ts";
import { hasExpired, type MemoryRow, type MemoryTable } from "./memory-table.ts";

export interface MemoryQueueSettings extends InboxSettings {
  readonly retentionMs: number;
  readonly clock: Clock;
}

/** The workers' role of a memory inbox. */
export interface MemoryQueue {
  take(options: TakeOptions): readonly TakenEvent[];
  extend(leases: readonly InboxLease[], leaseMs: number): readonly boolean[];
  settle(settlements: readonly Settlement[]): readonly boolean[];
  purge(limit: number): number;
}

export function createMemoryQueue(
  table: MemoryTable,
  pauses: MemoryPauses,
  settings: MemoryQueueSettings,
): MemoryQueue {
  const { clock, retentionMs, keepBodies, bodyRetentionMs, laneHeldByDead } = settings;
  let lastToken = 0;

  /** Makes leased rows ready if their lease has ended, so that all waiting rows have one state. */
  function reap(now: number): void {
    for (const row of [...table.pending()]) {
      if (row.state !== "leased" || row.leasedUntil > now) continue;
      const error = row.error ?? "The lease ended before its worker settled it.";
      table.write({
        ...row,
        state: "ready",
        dueAt: row.leasedUntil,
        isSuspect: true,
        error,
        history: withAttempt(row.history, leaseEnded, row.leasedUntil),
      });
    }
  }

  function lease(row: MemoryRow, now: number, leaseMs: number): TakenEvent {
    const { source, id, type, body, receivedAt, waitingSince, replay, trace, takenAt } = row;
    const [attempts, tries] = [row.attempts + 1, row.tries + 1];
    const token = String(++lastToken); // never reused, so that a late owner cannot pass for the current one
    table.write({
      ...row,
      state: "leased",
      token,
      attempts,
      tries,
      leasedUntil: now + leaseMs,
      takenAt: takenAt ?? new Date(now),
    });
    return {
      source,
      id,
      token,
      type,
      body: body ?? new Uint8Array(),
      receivedAt,
      attempt: attempts,
      tries,
      waitedMs: waitingSince === null ? 0 : now - waitingSince,
      replayed: replay !== null,
      waitMs: now - Math.max(row.dueAt, pauses.endedAt(type)),
      trace,
    };
  }

  /** Replaces a row with `change(row)` if it is still leased with this token. */
  function asOwner(held: InboxLease, change: (row: MemoryRow) => MemoryRow): boolean {
    const row = table.get(held);
    if (row?.state !== "leased" || row.token !== held.token) return false;
    table.write(change(row));
    return true;
  }

  function settledRow(row: MemoryRow, ending: StoredEnding, now: number, keptMs: number): MemoryRow {
    const change = rowChange(ending);
    const { state, error } = change;
    return {
      ...row,
      state,
      attempts: row.attempts + change.attempts,
      tries: row.tries + change.tries,
      isSuspect: row.isSuspect && change.staysSuspect,
      waitingSince: { begins: row.waitingSince ?? now, stays: row.waitingSince, ends: null }[change.waiting],
      error,
      dueAt: now + change.afterMs,
      keptUntil: now + keptMs,
      settledAt: state === "ready" ? null : new Date(now),
      body: state === "done" && !keepBodies ? null : row.body,
      history: change.attempt === null ? row.history : withAttempt(row.history, change.attempt, now),
    };
  }

  /** Whether an unhandled or dead row has a body that is no longer to be kept. */
  function losesBody({ state, body, settledAt }: MemoryRow, now: number): boolean {
    const isKept = (state !== "dead" && state !== "unhandled") || body === null || settledAt === null;
    return !isKept && settledAt.getTime() + bodyRetentionMs <= now;
  }

  return {
    take({ limit, leaseMs, only, except = [], suspects = false }) {
      const now = clock.now();
      reap(now);
      const { hasTurn } = lanesOf(table, laneHeldByDead);
      const isWanted = ({ type, isSuspect }: MemoryRow) =>
        isSuspect === suspects &&
        !pauses.has(type) &&
        (only === undefined || (type !== null && only.includes(type))) &&
        (type === null || !except.includes(type));
      return [...table.pending()]
        .filter((row) => row.state === "ready" && row.dueAt <= now && isWanted(row) && hasTurn(row))
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit)
        .map((row) => lease(row, now, leaseMs));
    },
    extend(leases, leaseMs) {
      const leasedUntil = clock.now() + leaseMs;
      return leases.map((held) => asOwner(held, (row) => ({ ...row, leasedUntil })));
    },
    settle(settlements) {
      const now = clock.now();
      const keptMs = spreadRetention(retentionMs);
      const ended: MemoryRow[] = [];
      const were = settlements.map((settlement) =>
        asOwner(settlement, (row) => {
          const changed = settledRow(row, settlement, now, keptMs);
          if (changed.state !== "ready") ended.push(changed);
          return changed;
        }),
      );
      freeLanes(table, ended, now);
      return were;
    },
    purge(limit) {
      const now = clock.now();
      let purged = 0;
      for (const row of table.all()) {
        if (purged >= limit) break; // the oldest come first, so a slice rarely reads all rows
        if (hasExpired(row, now)) table.remove(row);
        else if (losesBody(row, now)) table.write({ ...row, body: null });
        else continue;
        purged += 1;
      }
      return purged;
    },
  };
}
