// The Worker of `npm run bench -- cloudflare`: a delivery's path says what takes it.
import { createHmac, timingSafeEqual } from "node:crypto";
import { type DurableObjectNamespace, durableObjectStore, queueInbox } from "@esim-webhooks/cloudflare";
import { type WebhookHandler, webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

interface Env {
  readonly DEDUPE: DurableObjectNamespace;
}

const key = Buffer.alloc(32, 7); // as in the bench
let receivers: Readonly<
  Record<string, (request: Request, ...platform: readonly unknown[]) => Promise<Response>>
>;

/** Verifies and parses as little as a route can: the floor. */
async function bare(request: Request): Promise<Response> {
  const { headers } = request;
  const body = Buffer.from(await request.arrayBuffer());
  const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.`;
  const mac = createHmac("sha256", key).update(signed).update(body).digest();
  const given = Buffer.from(headers.get("webhook-signature")?.slice("v1,".length) ?? "", "base64");
  if (!timingSafeEqual(mac, given)) return new Response(null, { status: 401 });
  JSON.parse(body.toString());
  return Response.json({ outcome: "processed" });
}

function make({ DEDUPE }: Env): typeof receivers {
  const secret = `whsec_${key.toString("base64")}`;
  const handlers = { "*": () => {} };
  const inline: WebhookHandler = webhookHandler(handlers, { secret });
  const objects = webhookHandler(handlers, { secret, store: durableObjectStore(DEDUPE) });
  const queue = webhookHandler(queueInbox({ send: async () => {} }), { secret });
  return { bare, inline, objects, queue };
}

export default {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> | Response {
    receivers ??= make(env);
    return receivers[new URL(request.url).pathname.slice(1)]?.(request, env, context) ?? new Response();
  },
};
