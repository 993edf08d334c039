import { type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";

/** The second type parameter of `Handlers` is the type of `context.tx`. */
export function handlersFor(
  notify: (esim: string, key: string) => Promise<void>,
): Handlers<EsimEvents, SqliteTransaction> {
  return {
    "esim.faulted": async (event, context) => {
      const { data } = event;
      if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
      const key = idempotencyKeyOf(event, "replace"); // the same under every id of the event
      const [before] = await context.tx.read("select esim from replacement where key = ?", [key]);
      if (before !== undefined) return context.discard("replaced before, under another id");
      const parameters = [key, data.esimReference];
      context.tx.write({ sql: "insert into replacement values (?, ?)", parameters });
      return notify(data.esimReference, key); // runs again if the process dies: the other side remembers the key
    },
  };
}
