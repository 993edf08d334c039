import type { EventOutcome } from "../handle/event-outcome.ts";
import type { PutResult } from "../store/inbox-writer.ts";
import type { Refusal } from "../verify/refusal.ts";

/** The outcome of an event that was passed to an inbox: the inbox's answer to `put`. */
export interface StoredOutcome {
  /** `stored`: it is in the inbox, durably if the inbox is. */
  readonly code: Exclude<PutResult, "busy">;
}

/** The outcome of a delivery. Always a value, never an exception. */
export type Outcome =
  | EventOutcome
  | StoredOutcome
  | Refusal
  /** Not `POST`. */
  | { readonly code: "method_not_allowed" }
  /** The option `endpoints`, asked after the delivery arrived, knows no endpoint for its path. */
  | { readonly code: "unknown_endpoint"; readonly reason: string }
  /** It is not certain that the path has no endpoint: an earlier lookup found none, or one was known in the last hour, or the path is too long. */
  | { readonly code: "endpoint_unconfirmed"; readonly reason: string }
  /** No key matches the bytes as they came, and they have a content-encoding: nothing unauthenticated is inflated. */
  | { readonly code: "unsupported_encoding"; readonly reason: string }
  /** The body is longer than `maxBodyBytes`, so it cannot be verified. */
  | { readonly code: "too_large"; readonly reason: string }
  /** The unverified bodies of all deliveries together were over their budget, and this was the largest. */
  | { readonly code: "overloaded"; readonly reason: string }
  /** The body did not arrive in full: the client left, or was too slow. */
  | { readonly code: "body_incomplete"; readonly reason: string }
  /** Something else read the body first, and the raw bytes are gone. */
  | { readonly code: "body_consumed"; readonly hint: string }
  /** The receiver is closing, or closed. */
  | { readonly code: "shutting_down" }
  /** No key matches, and the keyring says that a rotation is under way. */
  | { readonly code: "rotating" }
  /** No key matches, and the newest keys could not be loaded; or the endpoint could not be looked up, or has another source now. */
  | { readonly code: "keys_unavailable"; readonly reason: string }
  /** A `webhookHandler` was made without a secret, and there still is none. */
  | { readonly code: "missing_secret" }
  /** A bug, or a schema that threw. */
  | { readonly code: "internal_error"; readonly error: unknown };

/** The code of each outcome. docs/status-contract.md lists what is answered to each. */
export type OutcomeCode = Outcome["code"];
