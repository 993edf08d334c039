import type { ApiErrorCode } from "@esim-webhooks/client";
import { type CoreErrorCode, WebhookError } from "@esim-webhooks/core";

/** The codes of the errors that this package throws, besides those of core and client; they are stable. */
export type EndpointErrorCode =
  | "change_under_way"
  | "endpoint_cap"
  | "endpoint_unknown"
  | "invalid_state"
  | "no_watermark"
  | "durable_store_required"
  | "not_settled"
  | "receivers_not_ready"
  | "reconcile_in_use"
  | "source_unknown";

/** An error of this package, or of one that it calls. */
export type EndpointError = WebhookError<CoreErrorCode | ApiErrorCode | EndpointErrorCode>;

export function hasCode(error: unknown, code: EndpointErrorCode): boolean {
  return WebhookError.is(error) && error.code === code;
}
