import type { GaugeCount } from "@esim-webhooks/core";
import type { CountedGauges } from "@esim-webhooks/core/engine";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { blocked } from "./blocked.ts";
import { oldestReadyMs } from "./due.ts";
import { heldTypes, pausedTypes } from "./pause.ts";
import type { LaneRule } from "./stats.ts";

const cap = 10_001; // `mostCounted` of core, which this thread does not load

/** The parts that add up to each count: SQL. Each repeats the condition of an index, word for word. */
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

export function gauges(connection: Connection, { laneHeldByDead }: LaneRule): CountedGauges {
  const reading = { ...connection, nowMs: nowMs(connection) };
  const paused = pausedTypes(reading);
  const found = Object.fromEntries(
    Object.entries(parts).map(([name, conditions]) => [name, sumOf(connection, conditions, reading.nowMs)]),
  ) as Record<keyof typeof parts, number>;
  const held = { paused: 0, ready: 0 };
  for (const { type, isPaused } of heldTypes(reading))
    held[isPaused ? "paused" : "ready"] += countUpTo(connection, "held = 1 and type = $type", { type });
  const last = connection.get<{ received_at: number }>("select received_at from esim_webhooks_last_delivery");
  return {
    // held.ready: events, due or not, whose pause has ended, but that no worker has released yet
    counts: { ...found, ready: found.ready + held.ready, paused: held.paused },
    blocked: paused.isAll
      ? { by: { failing: 0, paused: 0, dead: 0 }, isMore: false }
      : blocked(reading, laneHeldByDead, { lanes: 1000, events: cap }),
    areAllPaused: paused.isAll,
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
