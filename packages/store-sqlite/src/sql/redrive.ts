import type { InboxFilter } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { type Condition, matching } from "./filter.ts";
import { shrink } from "./forget.ts";
import { freeLanes } from "./lane.ts";
import { isPausedType } from "./pause.ts";

/** Which dead or unhandled events an operator means, and at most how many of them. */
export interface ChosenInput {
  readonly filter: InboxFilter & { readonly state: "dead" | "unhandled" };
  readonly limit: number;
}

/** Dead or unhandled → ready, with tries counted from zero, where there still is a body. Returns how many. */
export function redrive(tx: Transaction, input: ChosenInput): number {
  const { sql, parameters } = chosen(input, "body is not null");
  return tx.run(
    `update esim_webhooks_event set state = 'ready', held = ${isPausedType("esim_webhooks_event.type", "?")}, tries = 0, due_at = ?, kept_until = null,
      term_ms = 0, settled_at = null
    where rowid in (${sql})`,
    tx.nowMs,
    tx.nowMs,
    ...parameters,
  );
}

/** Deletes dead events. Returns how many. */
export function purgeDead(tx: Transaction, input: ChosenInput): number {
  const { sql, parameters } = chosen(input);
  const purged = tx.all<{ lane: string | null }>(
    `delete from esim_webhooks_event where rowid in (${sql}) returning lane`,
    ...parameters,
  );
  freeLanes(
    tx,
    purged.flatMap(({ lane }) => lane ?? []),
  );
  if (purged.length > 0) shrink(tx);
  return purged.length;
}

/** A list of rowids: SQL. The earliest received first. */
function chosen({ filter, limit }: ChosenInput, condition = "true"): Condition {
  const { sql, parameters } = matching(filter);
  return {
    sql: `select rowid from esim_webhooks_event where ${sql} and ${condition} order by received_at limit ?`,
    parameters: [...parameters, limit],
  };
}
