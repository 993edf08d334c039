import type { GaugeCount, InboxGauges } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { type Blocked, blocked } from "./blocked.ts";
import { oldestReadyMs } from "./due.ts";
import { heldTypes, pausedTypes } from "./pause.ts";
import type { LaneRule } from "./stats.ts";

/** A count ends here: there are more. */
const cap = 10_001;

/** The parts of each count: SQL, each with the condition of an index, word for word. */
const parts: Readonly<Record<Exclude<GaugeCount, "paused" | "blocked">, readonly string[]>> = {
  ready: [
    "state = 'ready' and held = 0 and lane is null and due_at <= $now",
    "state = 'ready' and held = 0 and lane is not null and due_at <= $now",
  ],
  waiting: [
    "state = 'ready' and held = 0 and lane is null and due_at > $now",
    "state = 'ready' and held = 0 and lane is not null and due_at > $now",
  ],
  leased: ["state = 'leased' and body is not null"],
  unhandled: ["state = 'unhandled'"],
  dead: ["state = 'dead'"],
};

const noneBlocked: Blocked = { counts: { failing: 0, paused: 0, dead: 0 }, isMore: false };

export function gauges(connection: Connection, { laneHeldByDead }: LaneRule): InboxGauges {
  const reading = { ...connection, nowMs: nowMs(connection) };
  const paused = pausedTypes(reading);
  const found = Object.fromEntries(
    Object.entries(parts).map(([name, conditions]) => [name, sumOf(connection, conditions, reading.nowMs)]),
  ) as Record<keyof typeof parts, number>;
  const held = { paused: 0, ready: 0 };
  for (const { type, isPaused } of heldTypes(reading))
    held[isPaused ? "paused" : "ready"] += countUpTo(connection, "held = 1 and type = $type", { type });
  const ready = found.ready + held.ready; // a pause has ended, and no worker has let its events go yet
  const { counts: blockedBy, isMore } = paused.isAll
    ? noneBlocked
    : blocked(reading, laneHeldByDead, { lanes: 1000, events: cap });
  const counts: Record<GaugeCount, number> = {
    ...found,
    ...(paused.isAll
      ? { ready: 0, waiting: 0, paused: held.paused + ready + found.waiting }
      : { ready, paused: held.paused }),
    blocked: blockedBy.failing + blockedBy.paused + blockedBy.dead,
  };
  const capped = (Object.keys(counts) as GaugeCount[]).filter(
    (name) => counts[name] >= cap || (name === "blocked" && isMore),
  );
  for (const name of capped) counts[name] = Math.min(cap, counts[name]);
  const last = connection.get<{ received_at: number }>("select received_at from esim_webhooks_last_delivery");
  return {
    // another process may write between two of the counts
    counts: { ...counts, ready: Math.max(0, counts.ready - counts.blocked) },
    capped,
    blockedBy,
    oldestReadyMs: paused.isAll ? null : oldestReadyMs(reading, laneHeldByDead, paused.types),
    lastReceivedAt: last === undefined ? null : new Date(last.received_at),
  };
}

function sumOf(connection: Connection, conditions: readonly string[], now: number): number {
  const counts = conditions.map((condition) =>
    countUpTo(connection, condition, condition.includes("$now") ? { now } : {}),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function countUpTo(
  connection: Connection,
  condition: string,
  parameters: Readonly<Record<string, string | number>>,
): number {
  const row = connection.get<{ count: number }>(
    `select count(*) as count from (select 1 from esim_webhooks_event where ${condition} limit ${cap})`,
    parameters,
  );
  return row?.count ?? 0;
}
