import type { LatestRecord } from "@esim-webhooks/core/kit";
import type { Connection } from "../database/connection.ts";
import { pageRows } from "./copied-rows.ts";

/** How far `latestOnly` has come: some subjects, those behind `after`. */
export function latestRecords(
  connection: Connection,
  { after }: { readonly after: LatestRecord | undefined },
): LatestRecord[] {
  return connection.all<LatestRecord>(
    `select family, subject, occurred_at as occurredAtMs from esim_webhooks_latest
    where ${after === undefined ? "true" : "(family, subject) > (?, ?)"} order by family, subject limit ${pageRows}`,
    ...(after === undefined ? [] : [after.family, after.subject]),
  );
}
