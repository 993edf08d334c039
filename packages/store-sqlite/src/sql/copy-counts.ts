import type { CopySourceState } from "@esim-webhooks/core/kit";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { isCopied } from "./copied-rows.ts";
import { hasEnded } from "./lease.ts";

/** How many rows a copy reads, and how many are leased. Goes through the whole table. */
export function copyCounts(connection: Connection, _: undefined): Omit<CopySourceState, "version"> {
  const counted = connection.get<Omit<CopySourceState, "version">>(
    `select count(*) filter (where ${isCopied}) as events,
      count(*) filter (where state = 'leased' and not ${hasEnded}) as leased
    from esim_webhooks_event`,
    { now: nowMs(connection) },
  );
  return { events: 0, leased: 0, ...counted };
}
