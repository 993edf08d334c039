// Counts the blocked events: their time has come, but they wait for an earlier event of their lane that no worker may take now.
import type { BlockedBy } from "@esim-webhooks/core";
import type { CountedGauges } from "@esim-webhooks/core/engine";
import type { Reading } from "./due.ts";
import { heldTypes } from "./pause.ts";

/** The most lanes that are looked at, and the most events in all of them. */
export interface BlockedLimits {
  readonly lanes: number;
  readonly events: number;
}

/** The event of a lane for which those after it wait. `by`: why no worker can take it. Null: a worker can. */
interface Head {
  readonly occurredAt: number;
  readonly source: string;
  readonly id: string;
  readonly by: keyof BlockedBy | null;
}

export function blocked(
  reading: Reading,
  laneHeldByDead: boolean,
  limits: BlockedLimits,
): CountedGauges["blocked"] {
  const by = { failing: 0, paused: 0, dead: 0 };
  const lanes = lanesToLookAt(reading, laneHeldByDead, limits.lanes + 1);
  let left = limits.events;
  for (const lane of lanes.slice(0, limits.lanes)) {
    const head = headOf(reading, lane, laneHeldByDead);
    if (head === undefined || head.by === null) continue;
    const { seen, due } = followersOf(reading, lane, head, left);
    by[head.by] += due;
    left -= seen;
    if (left === 0) return { by, isMore: true };
  }
  return { by, isMore: lanes.length > limits.lanes };
}

/** Returns at most `most` lanes, each once, in which an event waits for its next attempt, is paused, or is dead and holds its lane. */
function lanesToLookAt(reading: Reading, laneHeldByDead: boolean, most: number): string[] {
  const failing = reading.all<{ lane: string }>(
    `select lane from esim_webhooks_event
    where state = 'ready' and held = 0 and lane is not null and due_at > $now order by due_at limit $most`,
    { now: reading.nowMs, most },
  );
  const paused = heldTypes(reading)
    .filter(({ isPaused }) => isPaused)
    .flatMap(({ type }) => distinctLanes(reading, "held = 1 and type = $type", { type, most }));
  const dead = laneHeldByDead ? distinctLanes(reading, "lane is not null and state = 'dead'", { most }) : [];
  return [...new Set([...failing, ...paused, ...dead].map(({ lane }) => lane))].slice(0, most);
}

/** Returns each lane once, by stepping through an index that has the lane after the columns of `condition`. */
function distinctLanes(
  reading: Reading,
  condition: string,
  parameters: Readonly<Record<string, string | number>>,
): { readonly lane: string }[] {
  const next = (after: string) =>
    `select lane from esim_webhooks_event where ${condition} and lane > ${after} order by lane limit 1`;
  return reading.all(
    `with recursive visited (lane, number) as (
      select (${next("''")}), 1
      union all
      select (${next("visited.lane")}), number + 1 from visited where lane is not null and number < $most
    )
    select lane from visited where lane is not null`,
    parameters,
  );
}

/** Returns the first ready event of a lane or, if a worker can take it, the first dead one. Ignores leased events, since each lease ends. */
function headOf(reading: Reading, lane: string, laneHeldByDead: boolean): Head | undefined {
  const place = "occurred_at as occurredAt, source, id";
  const first = reading.get<Head>(
    `select ${place}, case when held = 1 then 'paused' when due_at > $now then 'failing' end as by
    from esim_webhooks_event
    where lane = $lane and lane is not null and state in ('ready', 'leased') and state = 'ready' order by occurred_at, source, id limit 1`,
    { lane, now: reading.nowMs },
  );
  if (first?.by !== null || !laneHeldByDead) return first;
  return reading.get<Head>(
    `select ${place}, 'dead' as by from esim_webhooks_event
    where lane = $lane and lane is not null and state = 'dead' order by occurred_at, source, id limit 1`,
    { lane },
  );
}

function followersOf(
  reading: Reading,
  lane: string,
  { occurredAt, source, id }: Head,
  most: number,
): { readonly seen: number; readonly due: number } {
  const found = reading.get<{ seen: number; due: number }>(
    `select count(*) as seen, count(*) filter (where state = 'ready' and held = 0 and due_at <= $now) as due from (
      select state, held, due_at from esim_webhooks_event
      where lane = $lane and lane is not null and state in ('ready', 'leased')
        and (occurred_at, source, id) > ($occurredAt, $source, $id)
      order by occurred_at, source, id limit $most
    )`,
    { lane, now: reading.nowMs, occurredAt, source, id, most },
  );
  return found ?? { seen: 0, due: 0 };
}
