import type { InboxFilter } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { matching } from "./filter.ts";

/** How many events a filter means. */
export function count(connection: Connection, { filter }: { readonly filter: InboxFilter }): number {
  const { sql, parameters } = matching(filter);
  const row = connection.get<{ count: number }>(
    `select count(*) as count from esim_webhooks_event where ${sql}`,
    ...parameters,
  );
  return row?.count ?? 0;
}
