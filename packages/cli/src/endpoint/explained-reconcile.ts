import { WebhookError } from "@esim-webhooks/core";
import { durableStores } from "@esim-webhooks/core/kit";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import type { ImportErrorCode } from "@esim-webhooks/import";
import { namingStore } from "../set-up/named-store.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** An error of `reconcile`, with a remedy in terms of the command line. */
export function explainedReconcile(error: unknown, setUp: SetUp): unknown {
  if (!WebhookError.is(error)) return error;
  switch (error.code as EndpointErrorCode | ImportErrorCode) {
    case "no_watermark":
      return new WebhookError<EndpointErrorCode>(
        "no_watermark",
        "This endpoint was never reconciled with this store, so it is not known how far back to look.",
        "Add --since with the time when your receiver began to store events: 2h, 7d, 2026-11-20. What came in before would run again.",
        { cause: error.cause },
      );
    case "source_unknown":
      return new WebhookError<ImportErrorCode>(
        "source_unknown",
        error.message.split(" Set {")[0] ?? "",
        "Name the endpoint as its receiver does with --source, or add --new-source if this one has no events there yet.",
      );
    case "durable_store_required":
      return new WebhookError<EndpointErrorCode>(
        "durable_store_required",
        `${error.message.split(": ")[0]}: what is brought in could be lost, or done twice.`,
        `Give ${setUp.file ?? "the config"} one that is: ${durableStores}. Or leave it out to use the default one.`,
      );
    default:
      return namingStore(error, setUp);
  }
}
