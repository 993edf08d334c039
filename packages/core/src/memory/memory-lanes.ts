import type { LaneHolder } from "../store/stored-event.ts";
import type { MemoryRow, MemoryTable } from "./memory-table.ts";

/** The lanes of a table, as they are now. */
export interface MemoryLanes {
  /** Whether a ready row is the next of its lane: no row of the lane is leased, and none that holds the lane is ahead. */
  hasTurn(row: MemoryRow): boolean;
  /** The first ready row of a lane, whether or not one of the lane is leased. */
  first(lane: string): MemoryRow | undefined;
  /** The first dead row of a lane, if dead rows hold their lanes. */
  firstDead(lane: string): MemoryRow | undefined;
}

export function lanesOf(table: Pick<MemoryTable, "all" | "pending">, laneHeldByDead: boolean): MemoryLanes {
  const ready = new Map<string, MemoryRow>();
  const dead = new Map<string, MemoryRow>();
  const worked = new Set<string>();
  for (const row of laneHeldByDead ? table.all() : table.pending()) {
    const { lane, state } = row;
    if (lane === null) continue;
    if (state === "leased") worked.add(lane);
    const firsts = state === "dead" ? dead : state === "ready" ? ready : undefined;
    const known = firsts?.get(lane);
    if (known === undefined || isAhead(row, known)) firsts?.set(lane, row);
  }
  return {
    hasTurn(row) {
      if (row.lane === null) return true;
      const died = dead.get(row.lane);
      const isHeld = worked.has(row.lane) || (died !== undefined && isAhead(died, row));
      return !isHeld && ready.get(row.lane) === row;
    },
    first: (lane) => ready.get(lane),
    firstDead: (lane) => dead.get(lane),
  };
}

/**
 * For authors of inboxes: for how long, in ms, an event can be due behind others of its lane and keep its due time. After a longer wait, it
 * becomes due when the one before it has ended.
 */
export const longWaitMs = 60_000;

/** For each lane of the ended rows: makes its next row due now, if that has been due for longer than `longWaitMs`. */
export function freeLanes(table: MemoryTable, ended: readonly MemoryRow[], now: number): void {
  if (ended.every(({ lane }) => lane === null)) return;
  const { first } = lanesOf(table, false);
  for (const { lane } of ended) {
    const next = lane === null ? undefined : first(lane);
    if (next !== undefined && next.dueAt < now - longWaitMs) table.write({ ...next, dueAt: now });
  }
}

/** Returns the event that blocks a ready one: the leased one of its lane, else a ready one before it, else a dead one. */
export function holderOf(table: MemoryTable, row: MemoryRow, laneHeldByDead: boolean): LaneHolder | null {
  if (row.lane === null || row.state !== "ready") return null;
  const lane = [...table.all()]
    .filter((other) => other.lane === row.lane)
    .sort((a, b) => (isAhead(a, b) ? -1 : 1));
  const found =
    lane.find(({ state }) => state === "leased") ??
    lane.find((other) => other.state === "ready" && isAhead(other, row)) ??
    lane.find((other) => laneHeldByDead && other.state === "dead" && isAhead(other, row));
  return found === undefined
    ? null
    : { source: found.source, id: found.id, state: found.state as LaneHolder["state"] };
}

/** Whether `row` is before `other`: by when they occurred, then by source and id. */
export function isAhead(row: MemoryRow, other: MemoryRow): boolean {
  if (row.occurredAt !== other.occurredAt) return row.occurredAt < other.occurredAt;
  return row.source === other.source ? row.id < other.id : row.source < other.source;
}
