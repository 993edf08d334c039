import type { GaugeCount, InboxGauges } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { isAllPaused } from "./pause.ts";
import { type LaneRule, oldestReadyMs } from "./stats.ts";

/** A count ends here: there are more. */
const cap = 10_001;

/** The parts of each count: SQL, each with the condition of an index, word for word. */
const parts: Readonly<Record<GaugeCount, readonly string[]>> = {
  ready: [
    "state = 'ready' and held = 0 and lane is null and due_at <= $now",
    "state = 'ready' and held = 0 and lane is not null and due_at <= $now",
  ],
  waiting: [
    "state = 'ready' and held = 0 and lane is null and due_at > $now",
    "state = 'ready' and held = 0 and lane is not null and due_at > $now",
  ],
  paused: ["held = 1"],
  leased: ["state = 'leased' and body is not null"],
  unhandled: ["state = 'unhandled'"],
  dead: ["state = 'dead'"],
};

export function gauges(connection: Connection, { laneHeldByDead }: LaneRule): InboxGauges {
  const now = nowMs(connection);
  const counts = Object.fromEntries(
    Object.entries(parts).map(([name, conditions]) => [name, sumOf(connection, conditions, now)]),
  ) as Record<GaugeCount, number>;
  const isPaused = isAllPaused(connection, now);
  if (isPaused) {
    counts.paused = Math.min(cap, counts.paused + counts.ready + counts.waiting);
    counts.ready = 0;
    counts.waiting = 0;
  }
  const last = connection.get<{ received_at: number }>("select received_at from esim_webhooks_last_delivery");
  return {
    counts,
    capped: (Object.keys(parts) as GaugeCount[]).filter((name) => counts[name] === cap),
    oldestReadyMs: isPaused ? null : oldestReadyMs(connection, laneHeldByDead),
    lastReceivedAt: last === undefined ? null : new Date(last.received_at),
  };
}

function sumOf(connection: Connection, conditions: readonly string[], now: number): number {
  const counts = conditions.map((condition) => countUpTo(connection, condition, now));
  return Math.min(
    cap,
    counts.reduce((sum, count) => sum + count, 0),
  );
}

function countUpTo(connection: Connection, condition: string, now: number): number {
  const row = connection.get<{ count: number }>(
    `select count(*) as count from (select 1 from esim_webhooks_event where ${condition} limit ${cap})`,
    ...(condition.includes("$now") ? [{ now }] : []),
  );
  return row?.count ?? 0;
}
