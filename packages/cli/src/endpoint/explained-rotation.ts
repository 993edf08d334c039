import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { explainedChange } from "./change-text.ts";
import { withFlags } from "./with-flags.ts";

/** An error of `rotateSecret`, with a remedy in terms of the command line. */
export async function explainedRotation(error: unknown, keyStore: KeyStore): Promise<unknown> {
  if (!WebhookError.is(error)) return error;
  switch (error.code as EndpointErrorCode | "invalid_secret") {
    case "change_under_way":
      return explainedChange(error, keyStore);
    case "no_watermark":
      return new WebhookError<EndpointErrorCode>(
        "no_watermark",
        "This endpoint was never reconciled with this store, so it is not known how far back to look for what the rotation may cost. The secret was not replaced.",
        "Run esim-webhooks reconcile --since with the time when your receiver began to store events (2h, 7d, 2026-11-20), and rotate again; or add --no-reconcile.",
        { cause: error.cause },
      );
    case "receivers_not_ready":
    case "invalid_secret":
      return withFlags(error);
    default:
      return error;
  }
}
