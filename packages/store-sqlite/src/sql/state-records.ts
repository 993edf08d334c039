import type { StateRecord } from "@esim-webhooks/core/kit";
import type { Connection } from "../database/connection.ts";
import { pageRows } from "./copied-rows.ts";

/** Some small states, those behind `after`. */
export function stateRecords(
  connection: Connection,
  { after }: { readonly after: StateRecord | undefined },
): StateRecord[] {
  return connection.all<StateRecord>(
    `select name, value from esim_webhooks_state where name > ? order by name limit ${pageRows}`,
    after?.name ?? "", // no name is empty
  );
}
