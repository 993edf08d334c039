import { inOrder, plpgsql } from "./sql-function.ts";
import { isFirst } from "./take-functions.ts";

/** Rows of an index, in its order: its condition is repeated, and its columns. So no other index is read. */
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

/** The types of which events are held, by the index of those. */
const heldTypes = `with recursive known as (
    (select type from esim_webhooks.event where held order by type limit 1)
    union all
    select (select type from esim_webhooks.event as next where held and next.type > known.type order by type limit 1)
    from known where type is not null
  )`;

/** How many events are held of types that meet a condition, each counted up to the limit. */
const heldOf = (condition: string): string => `coalesce((
      ${heldTypes}
      select sum((
        select count(*) from (select from esim_webhooks.event where held and event.type = known.type limit most) as found
      )) from known where type is not null and ${condition}
    ), 0)::bigint`;

const isPaused = "type = any (coalesce(esim_webhooks.paused_types(moment), '{}'))";

/** Counts from indexes alone, each up to a limit. By the statistics of yesterday nearly all rows may be of one state. */
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
 * Since when the longest due event that a take could give has been due. In lanes, it looks at the thousand longest due events; if all of these
 * wait for others, at the first events of 2,000 lanes. It looks at rows in their order. Also of events that are held still, although their pause has ended. Null: there is none.
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
      where head.number < 2000
    )
    select min(due_at) into oldest from head where due_at <= moment and not held and ${isWanted} and ${isFirst("head")};
  end if;
  return least(oldest, (
    select due_at from (
      select type, due_at from esim_webhooks.event
      where state = 'ready' and not held and lane is null and due_at <= moment
      order by due_at limit 1000
    ) as near where ${isWanted} limit 1
  ), (
    ${heldTypes}
    select min((
      select min(due_at) from (select due_at from esim_webhooks.event where held and event.type = known.type limit 1000) as found
      where due_at <= moment
    )) from known where type is not null and ${isWanted}
  ));
end`,
);

/** The functions that say how an inbox is. */
export const gaugeFunctions: readonly string[] = [gauges, oldestDue];
