import type { Clock } from "../base/clock.ts";
import { rowChange, type StoredEnding } from "../store/ending.ts";
import { leaseEnded, withAttempt } from "../store/history.ts";
import type { InboxSettings } from "../store/inbox-options.ts";
import type { InboxLease, Settlement, TakenEvent, TakeOptions } from "../store/inbox-queue.ts";
import { spreadRetention } from "../store/store-options.ts";
import type { MemoryPauses } from "./memory-pauses.ts";
import { isAhead, type MemoryRow, type MemoryTable } from "./memory-table.ts";

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
  const { clock, retentionMs, keepBodies, bodyRetentionMs, laneHeldByDead, fairBy } = settings;
  let lastToken = 0;
  let lastSource = ""; // of the last take in shares

  /** Leased, but the lease has ended → ready, so that all waiting rows have one state. */
  function reap(now: number): void {
    for (const row of [...table.pending()]) {
      if (row.state !== "leased" || row.endsAt > now) continue;
      const error = row.error ?? "The lease ended before its worker settled it.";
      table.write({
        ...row,
        state: "ready",
        isSuspect: true,
        error,
        history: withAttempt(row.history, leaseEnded, row.endsAt),
      });
    }
  }

  /** Returns whether a row is the next of its lane: no row of the lane is leased, and none is ahead. */
  function turns(): (row: MemoryRow) => boolean {
    const heads = new Map<string, MemoryRow>();
    const worked = new Set<string>();
    for (const row of laneHeldByDead ? table.all() : table.pending()) {
      const counts = row.state === "ready" || row.state === "leased" || row.state === "dead";
      if (row.lane === null || !counts) continue;
      if (row.state === "leased") worked.add(row.lane);
      const head = heads.get(row.lane);
      if (head === undefined || isAhead(row, head)) heads.set(row.lane, row);
    }
    return (row) => row.lane === null || (!worked.has(row.lane) && heads.get(row.lane) === row);
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
      endsAt: now + leaseMs,
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
      dueForMs: now - row.endsAt,
      trace,
    };
  }

  /** One row of each source after the other, beginning with the source after the last one. */
  function inShares(due: readonly MemoryRow[], limit: number): readonly MemoryRow[] {
    const bySource = Map.groupBy(due, ({ source }) => source);
    const sources = [...bySource.keys()].sort();
    const first = sources.findIndex((source) => source > lastSource);
    const inOrder = first === -1 ? sources : [...sources.slice(first), ...sources.slice(0, first)];
    lastSource = inOrder.slice(0, limit).at(-1) ?? lastSource;
    const chosen: MemoryRow[] = [];
    for (let place = 0; chosen.length < Math.min(limit, due.length); place += 1)
      chosen.push(...inOrder.flatMap((source) => bySource.get(source)?.[place] ?? []));
    return chosen.slice(0, limit);
  }

  /** Replaces a row with `change(row)` if the lease is still held. */
  function asOwner(held: InboxLease, change: (row: MemoryRow) => MemoryRow): boolean {
    const row = table.get(held);
    if (row?.state !== "leased" || row.token !== held.token) return false;
    table.write(change(row));
    return true;
  }

  function settled(row: MemoryRow, ending: StoredEnding, now: number, keptMs: number): MemoryRow {
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
      endsAt: {
        ready: now + change.afterMs,
        dead: Number.POSITIVE_INFINITY,
        done: now + keptMs,
        unhandled: now + keptMs,
      }[state],
      settledAt: state === "ready" ? null : new Date(now),
      body: state === "done" && !keepBodies ? null : row.body,
      history: change.attempt === null ? row.history : withAttempt(row.history, change.attempt, now),
    };
  }

  /** Whether the time has ended for which the body of an unhandled or dead event is kept. */
  function losesBody({ state, body, settledAt }: MemoryRow, now: number): boolean {
    const isKept = (state !== "dead" && state !== "unhandled") || body === null || settledAt === null;
    return !isKept && settledAt.getTime() + bodyRetentionMs <= now;
  }

  return {
    take({ limit, leaseMs, only, except = [], suspects = false }) {
      const now = clock.now();
      reap(now);
      const hasTurn = turns();
      const isWanted = ({ type, isSuspect }: MemoryRow) =>
        isSuspect === suspects &&
        !pauses.has(type) &&
        (only === undefined || (type !== null && only.includes(type))) &&
        (type === null || !except.includes(type));
      const due = [...table.pending()]
        .filter((row) => row.state === "ready" && row.endsAt <= now && isWanted(row) && hasTurn(row))
        .sort((a, b) => a.endsAt - b.endsAt);
      const chosen = fairBy === undefined || suspects ? due.slice(0, limit) : inShares(due, limit);
      return chosen.map((row) => lease(row, now, leaseMs));
    },
    extend(leases, leaseMs) {
      const endsAt = clock.now() + leaseMs;
      return leases.map((held) => asOwner(held, (row) => ({ ...row, endsAt })));
    },
    settle(settlements) {
      const now = clock.now();
      const keptMs = spreadRetention(retentionMs);
      return settlements.map((settlement) =>
        asOwner(settlement, (row) => settled(row, settlement, now, keptMs)),
      );
    },
    purge(limit) {
      const now = clock.now();
      let purged = 0;
      for (const row of table.all()) {
        if (purged >= limit) break; // the oldest come first, so a slice rarely reads all rows
        if ((row.state === "done" || row.state === "unhandled") && row.endsAt <= now) table.remove(row);
        else if (losesBody(row, now)) table.write({ ...row, body: null });
        else continue;
        purged += 1;
      }
      return purged;
    },
  };
}
