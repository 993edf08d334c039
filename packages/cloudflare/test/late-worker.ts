// A Worker whose handler ends after the sender was answered.
import { setTimeout as pause } from "node:timers/promises";
import { type DurableObjectNamespace, durableObjectStore } from "@esim-webhooks/cloudflare";
import { type WebhookHandler, webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

let receive: WebhookHandler | undefined;

export default {
  fetch(
    request: Request,
    env: { readonly DEDUPE: DurableObjectNamespace },
    context: unknown,
  ): Promise<Response> {
    receive ??= webhookHandler(
      {
        "esim.faulted": async () => {
          await pause(500);
          console.log("handled");
        },
      },
      { store: durableObjectStore(env.DEDUPE), deadlineMs: 200, logger: console },
    );
    return receive(request, context);
  },
};
