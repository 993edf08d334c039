import type { EsimEvents, Handlers } from "@esim-webhooks/core";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";

/** The second type parameter of `Handlers` is the type of `context.tx`. */
export function handlersFor(
  notify: (esim: string) => Promise<void>,
): Handlers<EsimEvents, SqliteTransaction> {
  return {
    "esim.faulted": async ({ data }, context) => {
      if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
      context.tx.write({ sql: "insert into replacement values (?)", parameters: [data.esimReference] });
      return notify(data.esimReference);
    },
  };
}
