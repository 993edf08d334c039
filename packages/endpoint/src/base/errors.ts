import type { ApiErrorCode } from "@esim-webhooks/client";
import { type CoreErrorCode, WebhookError } from "@esim-webhooks/core";

/** The codes of the errors that this package throws, besides those of core and client; they are stable. */
export type EndpointErrorCode =
  /** Another change of the keys is under way, or another process has changed the keys meanwhile. Finish that change, or run this again. */
  | "change_under_way"
  | "endpoint_cap"
  /** The client does not have the endpoint, or has several and none is named. Correct `--endpoint`, or register one with `ensureEndpoint`. */
  | "endpoint_unknown"
  | "invalid_state"
  /** The key store has the keys of endpoints in the other environment of the API. Give each environment a key store of its own. */
  | "other_environment"
  /** The endpoint was never reconciled with this state store. Pass `since`: the time at which your receiver began to store events. */
  | "no_watermark"
  /** The inbox, the store of the handlers or the state store is not durable, so recovered events could be lost, or done twice. Pass one that is. */
  | "durable_store_required"
  /** Events of the endpoint are not settled, so it was not deleted, or its rotation not finished. Fix what the log says about them, and run this again. */
  | "not_settled"
  /** A receiver does not read this key store, or its clock is wrong, so the secret was not replaced. Have all receivers read this key store, set the clocks, and rotate again. */
  | "receivers_not_ready"
  /** Another process is reconciling this endpoint. Leave it to that process: it recovers the same events. */
  | "reconcile_in_use"
  /** The target has only events of other sources, or the endpoint was reconciled with another `source`: events could run a second time. Pass the earlier `source`, or `newSource` if the new one is right. */
  | "source_unknown";

/** An error of this package, or of a package that it calls. */
export type EndpointError = WebhookError<CoreErrorCode | ApiErrorCode | EndpointErrorCode>;

export function hasCode(error: unknown, code: EndpointErrorCode): boolean {
  return WebhookError.is(error) && error.code === code;
}
