import type { GivenUp, InboxFilter } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { all, type Condition, found, matching } from "./filter.ts";
import { shrink } from "./forget.ts";
import { freeLanes } from "./lane.ts";
import { withAttempt } from "./lease.ts";
import { isPausedType } from "./pause.ts";

/** The events that an operator means, and at most how many of them. */
export interface ChosenInput {
  readonly filter: InboxFilter & { readonly state: "dead" | "unhandled" | "ready" };
  readonly limit: number;
}

/** A `ChosenInput` with the step that the history of each event gets, as JSON. */
export interface SteppedInput extends ChosenInput {
  readonly step: string;
}

/** A history with a step of an operator: SQL with a `?` for the step, and one for the time. */
const history = withAttempt("json_set(?, '$.attempts', attempts)", "?");

/** Dead, unhandled, or ready and due later → ready and due, with tries counted from zero, where there still is a body. Returns how many. */
export function redrive(tx: Transaction, { filter, limit, step }: SteppedInput): number {
  const later = filter.state === "ready" ? { dueAfter: new Date(tx.nowMs) } : {};
  const { sql, parameters } = chosen({ filter: { ...filter, ...later }, limit }, "body is not null");
  return tx.run(
    `update esim_webhooks_event set state = 'ready', held = ${isPausedType("esim_webhooks_event.type", "?")}, tries = 0, due_at = ?, kept_until = null,
      term_ms = 0, settled_at = null, waiting_since = null, history = ${history}
    where rowid in (${sql})`,
    ...[tx.nowMs, tx.nowMs, step, tx.nowMs],
    ...parameters,
  );
}

/** Ready → dead. Returns how many, and how many that match are leased. */
export function giveUp(
  tx: Transaction,
  { error, filter, limit, step }: SteppedInput & { readonly error: string },
): GivenUp {
  const { sql, parameters } = chosen({ filter, limit });
  const given = tx.all<LaneOf>(
    `update esim_webhooks_event set state = 'dead', held = 0, due_at = null, term_ms = 0, suspect = 0, waiting_since = null,
      settled_at = ?, error = ?, history = ${history}
    where rowid in (${sql}) returning lane`,
    ...[tx.nowMs, error, step, tx.nowMs],
    ...parameters,
  );
  freeLanes(tx, lanesOf(given));
  const leased = matching({ ...filter, state: "leased" });
  const left = tx.get<{ count: number }>(
    `select count(*) as count from esim_webhooks_event where ${leased.sql} and body is not null`,
    ...leased.parameters,
  );
  return { events: given.length, leased: left?.count ?? 0 };
}

/** Deletes dead events. Returns how many. */
export function purgeDead(tx: Transaction, input: ChosenInput): number {
  const { sql, parameters } = chosen(input);
  const purged = tx.all<LaneOf>(
    `delete from esim_webhooks_event where rowid in (${sql}) returning lane`,
    ...parameters,
  );
  freeLanes(tx, lanesOf(purged));
  if (purged.length > 0) shrink(tx);
  return purged.length;
}

interface LaneOf {
  readonly lane: string | null;
}

function lanesOf(rows: readonly LaneOf[]): string[] {
  return rows.flatMap(({ lane }) => lane ?? []);
}

/** The ready events, in the indexes that have them: SQL. No index has all. */
const ready = ["held = 0 and lane is null", "held = 0 and lane is not null", "held = 1"]
  .map((index) => `select rowid from esim_webhooks_event where state = 'ready' and ${index}`)
  .join(" union all ");

/** SQL for the rowids of the chosen events that meet `condition`, the earliest received first. */
function chosen({ filter, limit }: ChosenInput, condition = "true"): Condition {
  const indexed =
    found(filter) ?? (filter.state === "ready" ? { sql: `rowid in (${ready})`, parameters: [] } : undefined);
  const { sql, parameters } = all([...(indexed === undefined ? [] : [indexed]), matching(filter)]);
  return {
    sql: `select rowid from esim_webhooks_event where ${sql} and ${condition} order by received_at limit ?`,
    parameters: [...parameters, limit],
  };
}
