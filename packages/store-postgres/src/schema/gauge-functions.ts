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

/** Counts from indexes alone, each up to a limit. By the statistics of yesterday nearly all rows may be of one state. */
const gauges = plpgsql(
  `gauges(moment timestamptz, most integer) returns table (
  ready bigint, waiting bigint, paused bigint, leased bigint, unhandled bigint, dead bigint
)`,
  inOrder,
  `
begin
  return query select
    ${sum(readyIn("due_at <= moment"))},
    ${sum(readyIn("due_at > moment"))},
    ${counted({ where: "held", order: "type" })},
    ${sum(leased)},
    ${counted(ended("unhandled"))},
    ${counted(ended("dead"))};
end`,
);

/**
 * Since when the longest due event that a worker could take has been due. Of the events in lanes, it looks at the thousand that have been due
 * longest. Null: there is none.
 */
const oldestDue = plpgsql(
  "oldest_due(moment timestamptz, held_by_dead boolean) returns timestamptz",
  inOrder,
  `
begin
  if '*' = any (esim_webhooks.paused_types(moment)) then
    return null;
  end if;
  return least((
    select due_at from esim_webhooks.event
    where state = 'ready' and not held and lane is null and due_at <= moment
    order by due_at limit 1
  ), (
    select due_at from (
      select due_at, lane, occurred_at, source, id from esim_webhooks.event
      where state = 'ready' and not held and lane is not null and due_at <= moment
      order by due_at limit 1000
    ) as near
    where ${isFirst("near")}
    order by due_at limit 1
  ));
end`,
);

/** The functions that say how an inbox is. */
export const gaugeFunctions: readonly string[] = [gauges, oldestDue];
