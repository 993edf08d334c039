import type { InboxFilter } from "@esim-webhooks/core";
import { type Condition, matching } from "./filter.ts";

/** Which events an operator means, and how many of them at most. */
export interface ChosenInput {
  readonly filter: InboxFilter & { readonly state: "dead" | "unhandled" };
  readonly limit: number;
}

/** Those events, the longest received first: SQL of a list of rowids. */
export function chosen({ filter, limit }: ChosenInput): Condition {
  const { sql, parameters } = matching(filter);
  return {
    sql: `select rowid from esim_webhooks_event where ${sql} order by received_at limit ?`,
    parameters: [...parameters, limit],
  };
}
