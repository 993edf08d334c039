import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { ApiClient } from "@esim-webhooks/client";
import { type EsimEvents, type HandlerContext, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

/** Events arrive in any order: only a later state is kept. */
const states = ["ordered", "ready", "in use", "replaced"] as const;
type State = (typeof states)[number];

/** The backend of a partner. It orders eSIMs by the API, and learns from webhooks what becomes of them. */
export async function startBackend(api: ApiClient, port = 0) {
  const orders = new Map<string, { customer: string; state: State }>(); // in a real one, a table

  async function order(customer: string, idempotencyKey?: string): Promise<string> {
    const answer = await api.esims.order({}, { idempotencyKey });
    const { esimReference } = (answer as { data: { esimReference: string } }).data;
    if (!orders.has(esimReference)) orders.set(esimReference, { customer, state: "ordered" });
    return esimReference;
  }

  function reach(esimReference: string, state: State, context: HandlerContext) {
    const known = orders.get(esimReference);
    if (known === undefined) return context.retryLater(30_000); // our own order call has not answered yet
    if (states.indexOf(state) > states.indexOf(known.state)) known.state = state;
  }

  const handlers: Handlers<EsimEvents> = {
    "esim.assigned": ({ data }, context) => reach(data.esimReference, "ready", context),
    "esim.enabled": ({ data }, context) => reach(data.esimReference, "in use", context),
    "esim.faulted": async (event, context) => {
      const { data } = event;
      if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
      const known = orders.get(data.esimReference);
      if (known !== undefined && known.state !== "replaced") {
        await order(known.customer, idempotencyKeyOf(event, "replace")); // again after a crash, and under another id: the same order
      }
      return reach(data.esimReference, "replaced", context);
    },
  };

  const app = express();
  const server = app.listen(port, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
  const { signingSecret } = await api.webhooks.create({ url, eventTypes: Object.keys(handlers) });
  app.use(webhookRouter(handlers, { secret: signingSecret }));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { order, orders, stop };
}
