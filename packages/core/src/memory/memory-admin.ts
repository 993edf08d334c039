import type { Clock } from "../base/clock.ts";
import type { EventKey } from "../event/event.ts";
import { erasedError } from "../store/erase.ts";
import { withoutBody } from "../store/event-columns.ts";
import type { GivenUp, readGiveUp } from "../store/give-up.ts";
import { encodeStep, withAttempt } from "../store/history.ts";
import type { InboxFilter, InboxPage, RedriveFilter } from "../store/inbox-admin.ts";
import type { BlockedBy, GaugeCount, InboxGauges, InboxStats } from "../store/inbox-figures.ts";
import { readCursor, writeCursor } from "../store/list-cursor.ts";
import type { InboxRow, InboxState, StoredEvent } from "../store/stored-event.ts";
import { freeLanes, holderOf, isAhead, lanesOf, type MemoryLanes } from "./memory-lanes.ts";
import type { MemoryPauses } from "./memory-pauses.ts";
import { type MemoryRow, type MemoryTable, matches, storedEvent } from "./memory-table.ts";

/** The operators' role of a memory inbox. */
export interface MemoryAdmin {
  stats(): InboxStats;
  gauges(): InboxGauges;
  count(filter: InboxFilter, most: number): number;
  list(filter: InboxFilter, limit: number, cursor: string | undefined): InboxPage;
  get(key: EventKey): StoredEvent | undefined;
  redrive(filter: RedriveFilter, limit: number, by: string | undefined): number;
  giveUp(filter: InboxFilter, by: ReturnType<typeof readGiveUp>, limit: number): GivenUp;
  purgeDead(filter: InboxFilter, limit: number): number;
  erase(subject: string, limit: number): Readonly<Record<InboxState, number>>;
}

export function createMemoryAdmin(
  table: MemoryTable,
  pauses: MemoryPauses,
  clock: Clock,
  retentionMs: number,
  laneHeldByDead: boolean,
): MemoryAdmin {
  const matching = (filter: InboxFilter) => [...table.all()].filter((row) => matches(row, filter));

  /** At most `limit` matching rows, oldest received first. */
  const oldest = (filter: InboxFilter, limit: number, isMeant = (_: MemoryRow) => true) =>
    matching(filter)
      .filter(isMeant)
      .sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())
      .slice(0, limit);

  /** For how long a worker could have taken the oldest due row, in ms. */
  function oldestReadyMs(): number | null {
    const now = clock.now();
    const { hasTurn } = lanesOf(table, laneHeldByDead);
    const due = [...table.pending()].filter(
      (row) => row.state === "ready" && row.dueAt <= now && !pauses.has(row.type) && hasTurn(row),
    );
    const since = ({ dueAt, type }: MemoryRow) => Math.max(dueAt, pauses.endedAt(type));
    return due.reduce<number | null>((oldest, row) => Math.max(oldest ?? 0, now - since(row)), null);
  }

  function countOf({ state, type, dueAt }: MemoryRow, now: number): Exclude<GaugeCount, "blocked"> {
    if (state !== "ready") return state as Exclude<InboxState, "ready" | "done">;
    if (pauses.has(type)) return "paused";
    return dueAt <= now ? "ready" : "waiting";
  }

  /** Returns what blocks a due row in its lane. Undefined: nothing, or only events that a worker can take or has. */
  function blockerOf(row: MemoryRow, lanes: MemoryLanes, now: number): keyof BlockedBy | undefined {
    if (row.lane === null || pauses.has(null)) return undefined;
    const first = lanes.first(row.lane);
    if (first !== undefined && isAhead(first, row)) {
      const name = countOf(first, now);
      if (name !== "ready") return name === "paused" ? "paused" : "failing";
    }
    const died = lanes.firstDead(row.lane);
    return died !== undefined && isAhead(died, row) ? "dead" : undefined;
  }

  return {
    stats() {
      const states: Record<InboxState, number> = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
      const types = new Map<string, { state: InboxState; type: string | null; count: number }>();
      let conflicts = 0;
      let lastReceivedAt: Date | null = null;
      for (const { state, type, ...row } of table.all()) {
        const counted = types.get(`${state} ${type}`) ?? { state, type, count: 0 };
        counted.count += 1;
        types.set(`${state} ${type}`, counted);
        states[state] += 1;
        conflicts += row.conflicts;
        const { receivedAt, replay } = row;
        if (replay === null && (lastReceivedAt === null || receivedAt > lastReceivedAt))
          lastReceivedAt = receivedAt;
      }
      return {
        states,
        types: [...types.values()],
        oldestReadyMs: oldestReadyMs(),
        conflicts,
        lastReceivedAt,
      };
    },
    gauges() {
      const now = clock.now();
      const lanes = lanesOf(table, laneHeldByDead);
      const counts: Record<GaugeCount, number> = {
        ready: 0,
        waiting: 0,
        blocked: 0,
        paused: 0,
        leased: 0,
        unhandled: 0,
        dead: 0,
      };
      const blockedBy = { failing: 0, paused: 0, dead: 0 };
      for (const row of table.all()) {
        if (row.state === "done") continue;
        const name = countOf(row, now);
        const by = name === "ready" ? blockerOf(row, lanes, now) : undefined;
        if (by !== undefined) blockedBy[by] += 1;
        counts[by === undefined ? name : "blocked"] += 1;
      }
      const lastReceivedAt = table.lastReceivedAt();
      return { counts, capped: [], blockedBy, oldestReadyMs: oldestReadyMs(), lastReceivedAt };
    },
    count: (filter, most) => Math.min(most, matching(filter).length),
    list(filter, limit, cursor) {
      const after =
        cursor === undefined ? undefined : readCursor(cursor, (time) => !Number.isNaN(Date.parse(time)));
      const from = after && { ...after, receivedAt: new Date(after.receivedAt) };
      const rows = matching(filter)
        .filter((row) => from === undefined || compare(row, from) < 0)
        .sort((a, b) => compare(b, a));
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const isMore = rows.length > limit && last !== undefined;
      return {
        rows: page.map((row) => withoutBody(storedEvent(row) as InboxRow)),
        nextCursor: isMore ? writeCursor({ ...last, receivedAt: last.receivedAt.toISOString() }) : null,
        searchedTo: isMore ? last.receivedAt : null,
      };
    },
    get(key) {
      const row = table.get(key);
      return row && { ...storedEvent(row), heldBy: holderOf(table, row, laneHeldByDead) };
    },
    redrive({ state = "dead", ...filter }, limit, by) {
      const now = clock.now();
      const isMeant = ({ dueAt, body }: MemoryRow) => body !== null && (state !== "ready" || dueAt > now);
      const redriven = oldest({ ...filter, state }, limit, isMeant);
      for (const row of redriven)
        table.write({
          ...row,
          state: "ready",
          tries: 0,
          dueAt: now,
          settledAt: null,
          waitingSince: null,
          history: withStep(row, encodeStep("retried", by ?? null), now),
        });
      return redriven.length;
    },
    giveUp(filter, { error, step }, limit) {
      const now = clock.now();
      const givenUp = oldest({ ...filter, state: "ready" }, limit);
      for (const row of givenUp)
        table.write({
          ...row,
          state: "dead",
          error,
          settledAt: new Date(now),
          isSuspect: false,
          waitingSince: null,
          history: withStep(row, step, now),
        });
      freeLanes(table, givenUp, now);
      return { events: givenUp.length, leased: matching({ ...filter, state: "leased" }).length };
    },
    purgeDead(filter, limit) {
      const dead = oldest({ ...filter, state: "dead" }, limit);
      for (const row of dead) table.remove(row);
      freeLanes(table, dead, clock.now());
      return dead.length;
    },
    erase(subject, limit) {
      const now = clock.now();
      const found = oldest({ subject }, limit);
      const erased: Record<InboxState, number> = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
      for (const row of found) {
        erased[row.state] += 1;
        const isDone = row.state === "done";
        table.write({
          ...row,
          state: "done",
          token: "", // no lease has this token
          keptUntil: isDone ? row.keptUntil : now + retentionMs,
          settledAt: isDone ? row.settledAt : new Date(now),
          erasedAt: new Date(now),
          error: erasedError,
          isSuspect: false,
          waitingSince: null,
          body: null,
          lane: null,
          replay: row.replay && { run: row.replay.run, rebuilt: row.replay.rebuilt },
          subject: null,
          trace: null,
          history: null,
        });
      }
      freeLanes(
        table,
        found.filter(({ state }) => state !== "done" && state !== "unhandled"),
        now,
      );
      return erased;
    },
  };
}

/** The history of a row with a step of an operator. */
function withStep({ history, attempts }: MemoryRow, step: string, now: number): string {
  return withAttempt(history, JSON.stringify({ ...JSON.parse(step), attempts }), now);
}

type ListPlace = Pick<MemoryRow, "receivedAt" | "source" | "id">;

function compare(a: ListPlace, b: ListPlace): number {
  const difference = a.receivedAt.getTime() - b.receivedAt.getTime();
  if (difference !== 0) return difference;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return a.source === b.source ? 0 : a.source < b.source ? -1 : 1;
}
