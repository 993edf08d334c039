import { type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";

/** The part of your backend that the handlers need: a test passes its own. */
export interface Shop {
  orderOf(esimReference: string): Promise<string | undefined>;
  /** Orders once for a key. */
  orderReplacement(order: string, key: string): Promise<void>;
}

export function handlersFor(shop: Shop): Handlers<EsimEvents> {
  return {
    "esim.faulted": async (event, context) => {
      const { data } = event;
      if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
      const order = await shop.orderOf(data.esimReference);
      if (order === undefined) return context.retryLater(30_000); // our own order call has not answered yet
      return shop.orderReplacement(order, idempotencyKeyOf(event, "replace"));
    },
  };
}
