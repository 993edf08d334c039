import type { Connection } from "../database/connection.ts";

/** The sources of some ids: reading all of them would take long in a large table. */
export function sources(connection: Connection, _: undefined): string[] {
  return connection
    .all<{ source: string }>(
      "select distinct source from (select source from esim_webhooks_event limit 1000) order by source",
    )
    .map(({ source }) => source);
}
