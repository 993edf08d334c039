import { env } from "cloudflare:workers";
import { durableObjectStore } from "@esim-webhooks/cloudflare";
import { webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

// answers once the handler has returned; each id is handled once, by whichever isolate
export default {
  fetch: webhookHandler(
    { "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`) },
    { store: durableObjectStore(env.DEDUPE), logger: console },
  ),
} satisfies ExportedHandler;
