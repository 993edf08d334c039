import type { GaugeCount, InboxGauges } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { oldestReadyMs } from "./due.ts";
import { heldTypes, pausedTypes } from "./pause.ts";
import type { LaneRule } from "./stats.ts";

/** A count ends here: there are more. */
const cap = 10_001;

/** The parts of each count: SQL, each with the condition of an index, word for word. */
const parts: Readonly<Record<Exclude<GaugeCount, "paused">, readonly string[]>> = {
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

export function gauges(connection: Connection, { laneHeldByDead }: LaneRule): InboxGauges {
  const now = nowMs(connection);
  const reading = { ...connection, nowMs: now };
  const counts = Object.fromEntries(
    Object.entries(parts).map(([name, conditions]) => [name, sumOf(connection, conditions, now)]),
  ) as Record<GaugeCount, number>;
  const held = { paused: 0, ready: 0 };
  for (const { type, isPaused } of heldTypes(reading))
    held[isPaused ? "paused" : "ready"] += countUpTo(connection, "held = 1 and type = $type", { type });
  const paused = pausedTypes(reading);
  const { ready, waiting } = counts;
  Object.assign(counts, {
    paused: atMost(held.paused + (paused.isAll ? ready + held.ready + waiting : 0)),
    ready: paused.isAll ? 0 : atMost(ready + held.ready), // a pause has ended, and no take has let its events go yet
    waiting: paused.isAll ? 0 : waiting,
  });
  const last = connection.get<{ received_at: number }>("select received_at from esim_webhooks_last_delivery");
  return {
    counts,
    capped: (Object.keys(counts) as GaugeCount[]).filter((name) => counts[name] === cap),
    oldestReadyMs: paused.isAll ? null : oldestReadyMs(reading, laneHeldByDead, paused.types),
    lastReceivedAt: last === undefined ? null : new Date(last.received_at),
  };
}

function atMost(count: number): number {
  return Math.min(cap, count);
}

function sumOf(connection: Connection, conditions: readonly string[], now: number): number {
  const counts = conditions.map((condition) =>
    countUpTo(connection, condition, condition.includes("$now") ? { now } : {}),
  );
  return atMost(counts.reduce((sum, count) => sum + count, 0));
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
