import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { explainedChange } from "./change-text.ts";
import { withFlags } from "./with-flags.ts";

/** An error of `ensureEndpoint` or `replaceEndpoint`, with a remedy in terms of the command line. */
export async function explainedEnsure(error: unknown, keyStore: KeyStore): Promise<unknown> {
  if (!WebhookError.is(error)) return error;
  switch (error.code as EndpointErrorCode | "invalid_secret") {
    case "change_under_way":
      return explainedChange(error, keyStore);
    case "endpoint_cap":
    case "endpoint_unknown":
    case "invalid_secret":
    case "no_watermark":
    case "not_settled":
      return withFlags(error);
    default:
      return error;
  }
}
