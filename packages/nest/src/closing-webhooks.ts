import { createDeadline } from "@esim-webhooks/core/engine";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { createEsimWebhooks, type EsimWebhooks } from "./esim-webhooks.ts";
import type { EsimWebhooksOptions } from "./esim-webhooks-options.ts";

const closeMs = 5000;

/** Creates `EsimWebhooks` that also close the inbox and the store with the application. */
export function createClosingWebhooks<Data, Tx>(
  options: EsimWebhooksOptions<Data, Tx>,
  host: HttpAdapterHost,
  discovery: DiscoveryService,
): EsimWebhooks {
  const webhooks = createEsimWebhooks(options, host, discovery);
  const close = () => Promise.all([options.inbox, options.store].map(async (each) => each?.close?.()));
  return Object.assign(webhooks, {
    async onApplicationShutdown() {
      // the receiver first: a late handler still settles its event
      await createDeadline(closeMs).before((webhooks.receiver?.close() ?? Promise.resolve()).then(close));
    },
  });
}
