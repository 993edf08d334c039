import { inOrder, plpgsql } from "./sql-function.ts";
import { isFirst } from "./take-functions.ts";

/** Rows of one index, in its order. The SQL repeats the condition and the columns of the index, so that no other index is read. */
interface Indexed {
  readonly where: string;
  readonly order: string;
}

const counted = ({ where, order }: Indexed): string =>
  `(select count(*) from (select from esim_webhooks.event where ${where} order by ${order} limit most) as found)`;

const readyIn = (when: string): readonly Indexed[] =>
  ["lane is null", "lane is not null"].map((where) => ({
    where: `state = 'ready' and not held and ${where} and ${when}`,
    order: "due_at",
  }));
const leased: readonly Indexed[] = [
  { where: "state = 'leased' and body is not null and lane is null", order: "leased_until" },
  { where: "lane is not null and state = 'leased'", order: "lane" },
];
const ended = (state: string): Indexed => ({ where: `state = '${state}'`, order: "received_at" });

const sum = (parts: readonly Indexed[]): string => parts.map(counted).join("\n    + ");

/** The types of which events are held, read from the index of held events. */
const heldTypes = `with recursive known as (
    (select type from esim_webhooks.event where held order by type limit 1)
    union all
    select (select type from esim_webhooks.event as next where held and next.type > known.type order by type limit 1)
    from known where type is not null
  )`;

/** How many events are held of types that meet a condition, up to the limit for each type. */
const heldOf = (condition: string): string => `coalesce((
      ${heldTypes}
      select sum((
        select count(*) from (select from esim_webhooks.event where held and event.type = known.type limit most) as found
      )) from known where type is not null and ${condition}
    ), 0)::bigint`;

const isPaused = "type = any (coalesce(esim_webhooks.paused_types(moment), '{}'))";

/** Counts that read only indexes, each up to a limit. The planner needs help: in its old statistics, nearly all rows may have one state. */
const gauges = plpgsql(
  `gauges(moment timestamptz, most integer) returns table (
  ready bigint, waiting bigint, paused bigint, leased bigint, unhandled bigint, dead bigint
)`,
  inOrder,
  `
begin
  return query select
    ${sum(readyIn("due_at <= moment"))} + ${heldOf(`not ${isPaused}`)},
    ${sum(readyIn("due_at > moment"))},
    ${heldOf(isPaused)},
    ${sum(leased)},
    ${counted(ended("unhandled"))},
    ${counted(ended("dead"))};
end`,
);

const isWanted = "(type is null or type <> all (paused))";

/**
 * Since when a take could have returned the oldest due event; null if there is none. In lanes, it looks at the first thousand events whose
 * time has come; if all of these wait for others, at the first events of 1,000 lanes. Events that are still held after their pause has ended are included.
 */
const oldestDue = plpgsql(
  "oldest_due(moment timestamptz, held_by_dead boolean) returns timestamptz",
  inOrder,
  `
declare
  paused constant text[] := coalesce(esim_webhooks.paused_types(moment), '{}');
  looked_at integer;
  oldest timestamptz;
begin
  if '*' = any (paused) then
    return null;
  end if;
  with near as materialized (
    select type, due_at, lane, occurred_at, source, id from esim_webhooks.event
    where state = 'ready' and not held and lane is not null and due_at <= moment
    order by due_at limit 1000
  )
  select (select due_at from near where ${isWanted} and ${isFirst("near")} limit 1), (select count(*) from near)
  into oldest, looked_at;
  if oldest is null and looked_at = 1000 then
    with recursive head as (
      (
        select type, due_at, lane, occurred_at, source, id, held, 1 as number from esim_webhooks.event
        where lane is not null and state = 'ready'
        order by lane, occurred_at, source, id limit 1
      )
      union all
      select following.*, head.number + 1 from head cross join lateral (
        select type, due_at, lane, occurred_at, source, id, held from esim_webhooks.event
        where lane > head.lane and lane is not null and state = 'ready'
        order by lane, occurred_at, source, id limit 1
      ) as following
      where head.number < 1000
    )
    select min(due_at) into oldest from head where due_at <= moment and not held and ${isWanted} and ${isFirst("head")};
  end if;
  oldest := least(oldest, (
    select due_at from (
      select type, due_at from esim_webhooks.event
      where state = 'ready' and not held and lane is null and due_at <= moment
      order by due_at limit 1000
    ) as near where ${isWanted} limit 1
  ), (
    ${heldTypes}
    select min((
      select greatest(min(due_at), (select until from esim_webhooks.pause where pause.type = known.type))
      from (select due_at from esim_webhooks.event where held and event.type = known.type limit 1000) as found
      where due_at <= moment having count(*) > 0
    )) from known where type is not null and ${isWanted}
  ));
  return case when oldest is not null
    then greatest(oldest, (select until from esim_webhooks.pause where type = '*' and until <= moment)) end;
end`,
);

/** Finds each lane once, up to a limit, by stepping through an index that has the lane after the columns of `condition`. */
const lanesWith = (condition: string): string => `(
        with recursive visited as (
          (select lane, 1 as number from esim_webhooks.event where ${condition} and lane > '' order by lane limit 1)
          union all
          select following.lane, visited.number + 1 from visited cross join lateral (
            select lane from esim_webhooks.event where ${condition} and event.lane > visited.lane order by lane limit 1
          ) as following
          where visited.number <= most_lanes
        )
        select array_agg(lane) from visited
      )`;

/**
 * Counts the blocked events: their time has come, but they wait behind an event of their lane that waits for its next attempt, is paused, or
 * is dead and holds its lane. Looks at a limited number of lanes and of events in them; `is_more` says that there are others.
 */
const blocked = plpgsql(
  `blocked(moment timestamptz, held_by_dead boolean, most_lanes integer, most integer) returns table (
  failing bigint, paused bigint, dead bigint, is_more boolean
)`,
  inOrder,
  `
#variable_conflict use_column
declare
  lanes text[];
  one text;
  head record;
  seen bigint;
  due bigint;
  remaining bigint := most;
begin
  failing := 0;
  paused := 0;
  dead := 0;
  lanes := array(
    select lane from esim_webhooks.event
    where state = 'ready' and not held and lane is not null and due_at > moment
    order by due_at limit most_lanes + 1
  );
  foreach one in array coalesce(esim_webhooks.paused_types(moment), '{}') loop
    lanes := lanes || ${lanesWith("held and type = one")};
  end loop;
  if held_by_dead then
    lanes := lanes || ${lanesWith("lane is not null and state = 'dead'")};
  end if;
  lanes := array(select distinct lane from unnest(lanes) as found (lane) limit most_lanes + 1);
  foreach one in array lanes[1:most_lanes] loop
    select occurred_at, source, id, case when held then 'paused' when due_at > moment then 'failing' end as why into head
    from esim_webhooks.event
    where lane = one and lane is not null and state = 'ready'
    order by lane, occurred_at, source, id limit 1;
    if head.why is null and held_by_dead then
      select occurred_at, source, id, 'dead' as why into head
      from esim_webhooks.event
      where lane = one and lane is not null and state = 'dead'
      order by lane, occurred_at, source, id limit 1;
    end if;
    continue when head.why is null;
    select count(*), count(*) filter (where due_at <= moment and not held) into seen, due from (
      select due_at, held from esim_webhooks.event
      where lane = one and lane is not null and state = 'ready'
        and (occurred_at, source, id) > (head.occurred_at, head.source, head.id)
      order by lane, occurred_at, source, id limit remaining
    ) as followers;
    case head.why
      when 'failing' then failing := failing + due;
      when 'paused' then paused := paused + due;
      else dead := dead + due;
    end case;
    remaining := remaining - seen;
    exit when remaining = 0;
  end loop;
  is_more := remaining = 0 or cardinality(lanes) > most_lanes;
  return next;
end`,
);

/** The functions that read the gauges of an inbox. */
export const gaugeFunctions: readonly string[] = [gauges, oldestDue, blocked];
