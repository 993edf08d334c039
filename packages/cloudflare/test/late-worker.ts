// A Worker whose handler takes half a second. At /late the sender is answered before it has ended.
import { setTimeout as pause } from "node:timers/promises";
import { type DurableObjectNamespace, durableObjectStore } from "@esim-webhooks/cloudflare";
import { type ReceiverOptions, type WebhookHandler, webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

interface Env {
  readonly DEDUPE: DurableObjectNamespace;
}

function receiver({ DEDUPE }: Env, options: ReceiverOptions): WebhookHandler {
  const handlers = {
    "esim.faulted": async () => {
      await pause(500);
      console.log("handled");
    },
  };
  return webhookHandler(handlers, { store: durableObjectStore(DEDUPE), logger: console, ...options });
}

let late: WebhookHandler;
let inTime: WebhookHandler;

export default {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> {
    late ??= receiver(env, { deadlineMs: 200 });
    inTime ??= receiver(env, {});
    return (new URL(request.url).pathname === "/late" ? late : inTime)(request, context);
  },
};
