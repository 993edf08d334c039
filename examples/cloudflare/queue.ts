import { env } from "cloudflare:workers";
import { durableObjectStore, queueHandler, queueInbox } from "@esim-webhooks/cloudflare";
import { type EsimEvents, type Handlers, idempotencyKeyOf, webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    if (context.attempt === 1) return context.retryLater(1000); // our own order call has not answered yet
    const key = idempotencyKeyOf(event, "reorder"); // for your own order call, which orders once for a key
    return console.log(`reordering ${data.esimReference}, key ${key}`);
  },
};

// answers 202 once the Queue has the event
const receive = webhookHandler(queueInbox(env.EVENTS), { logger: console });

export default {
  fetch: (request, ...platform) =>
    new URL(request.url).pathname === "/webhooks"
      ? receive(request, ...platform)
      : new Response("not found\n", { status: 404 }),
  queue: queueHandler(handlers, { store: durableObjectStore(env.DEDUPE), logger: console }),
} satisfies ExportedHandler;
