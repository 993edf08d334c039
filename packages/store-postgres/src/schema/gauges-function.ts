import { inOrder, plpgsql } from "./sql-function.ts";

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

const due = readyIn("due_at <= moment");
const sum = (parts: readonly Indexed[]): string => parts.map(counted).join("\n    + ");

/** Counts from indexes alone, each up to a limit. By the statistics of yesterday nearly all rows may be of one state. */
export const gaugesFunction: string = plpgsql(
  `gauges(moment timestamptz, most integer) returns table (
  ready bigint, waiting bigint, paused bigint, leased bigint, unhandled bigint, dead bigint, oldest_due timestamptz
)`,
  inOrder,
  `
begin
  return query select
    ${sum(due)},
    ${sum(readyIn("due_at > moment"))},
    ${counted({ where: "held", order: "type" })},
    ${sum(leased)},
    ${counted(ended("unhandled"))},
    ${counted(ended("dead"))},
    least(${due
      .map(
        ({ where, order }) =>
          `(select due_at from esim_webhooks.event where ${where} order by ${order} limit 1)`,
      )
      .join(",\n      ")});
end`,
);
