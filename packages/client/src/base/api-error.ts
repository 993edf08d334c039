import { WebhookError } from "@esim-webhooks/core";
import type { Problem } from "./problem.ts";

/**
 * The codes of the errors that calls reject with; they are stable.
 *
 * - `invalid_request`: a field is wrong, and nothing was sent. Correct what the message names
 * - `wrong_credentials`: the service refused the client id and secret. Check that both belong to this service
 * - `exchange_failed`: the `exchange` that was passed threw, or returned no token
 * - `limiter_failed`: the `limiter` that was passed threw
 * - `bad_request` (400): the service does not accept the request. Correct what `problemDetails` names
 * - `unauthorized` (401): the service refused a fresh token, too. Check that client id, secret and base URL belong together
 * - `forbidden` (403): the client has no access to this. Check the references, and which client the credentials belong to
 * - `not_found` (404): the service does not have this. Check the references, and that the base URL ends in /api/v3
 * - `conflict` (409 without `Retry-After`, except of `numbers.allocate`): a rule of the service forbids it. Do what `problemDetails` says
 * - `key_reused` (422): the idempotency key was used with another body before. Use a key of its own for each operation
 * - `in_flight` (423, 409 with `Retry-After`, or any 409 of `numbers.allocate`): the first request with the same idempotency key was still under way at the last attempt
 * - `rate_limited` (429): the service refused the last attempt, too, or asked for a pause that is longer than the call's time. Call again after
 *   `retryAfterMs`, or raise `timeoutMs`
 * - `service_failed` (5xx): the last attempt failed, too. Call again later, with the same body and `idempotencyKey`
 * - `unexpected_status`: the answer has a status that no other code is for. Check the base URL, and see `problemDetails`
 * - `unreachable`: no connection. Check that the service runs, and the base URL; then call again with the same body and
 *   `idempotencyKey`
 * - `connection_lost`: the connection ended before the answer was complete, so the operation may have been done. Call again with the
 *   same body and `idempotencyKey`, which cannot do it twice within 48 hours of the first attempt
 * - `timed_out`: no answer within the time. Call again with the same body and `idempotencyKey`, or raise `timeoutMs`
 * - `aborted`: the caller's signal ended it, and it may have been done. To continue it, call again with the same body and `idempotencyKey`
 * - `unreadable_answer`: success, with a body that is not JSON: html, empty, cut short. Check the base URL, and whether a proxy has
 *   answered instead
 * - `unexpected_answer`: success, with JSON that lacks what the caller was promised. The message says what to do; if it does not, ask the service's support
 * - `secret_not_shown`: an endpoint was registered, or its secret replaced, and the answer does not show the secret
 */
export type ApiErrorCode =
  | "invalid_request"
  | "wrong_credentials"
  | "exchange_failed"
  | "limiter_failed"
  | "bad_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "key_reused"
  | "in_flight"
  | "rate_limited"
  | "service_failed"
  | "unexpected_status"
  | "unreachable"
  | "connection_lost"
  | "timed_out"
  | "aborted"
  | "unreadable_answer"
  | "unexpected_answer"
  | "secret_not_shown";

/** The details of an `ApiError`, besides its code and message. */
export interface ApiErrorDetails {
  /** The status of the last answer. */
  readonly status?: number | undefined;
  /** The operation, such as `webhooks.create`. */
  readonly where?: string | undefined;
  /** The problem details of the last answer (RFC 9457). */
  readonly problemDetails?: Problem | undefined;
  /** The idempotency key of the operation. */
  readonly idempotencyKey?: string | undefined;
  /** How many requests were sent. */
  readonly attempts?: number | undefined;
  /** How long the service asked to wait, in ms. */
  readonly retryAfterMs?: number | undefined;
  /** The error that was thrown, such as that of `fetch`. */
  readonly cause?: unknown;
}

/** A call that did not succeed. Match on `code`. The client puts no token or secret into it, and no body except `problemDetails`. */
export class ApiError extends WebhookError<ApiErrorCode> {
  /** The status of the last answer; undefined when there was none. */
  readonly status: number | undefined;
  /**
   * The problem details of the last answer (RFC 9457), if there are any. They may quote what was sent, so they are not enumerable:
   * logs and `JSON.stringify` leave them out.
   */
  declare readonly problemDetails: Problem | undefined;
  /**
   * The idempotency key of a POST or PATCH. The same call with the same key and body continues the operation, within 48 hours:
   * if it was done, the service answers as it did the first time. It may repeat an error, too: see docs/client.md for when a new key is needed.
   */
  readonly idempotencyKey: string | undefined;
  /** How many requests were sent; 0 means that the service knows nothing of the call. */
  readonly attempts: number;
  /** Whether the same call, with the same idempotency key, may succeed later. */
  readonly retryable: boolean;
  /** How long the service asked to wait, in ms, if it did. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ApiErrorCode, problem: string, remedy: string, details: ApiErrorDetails = {}) {
    super(code, problem, remedy, { where: details.where, cause: details.cause });
    this.status = details.status;
    this.idempotencyKey = details.idempotencyKey;
    this.attempts = details.attempts ?? 0;
    this.retryable = retryable[code];
    this.retryAfterMs = details.retryAfterMs;
    Object.defineProperty(this, "problemDetails", { value: details.problemDetails });
    Object.defineProperty(this, "name", { value: "ApiError" });
  }
}

const retryable: Readonly<Record<ApiErrorCode, boolean>> = {
  invalid_request: false,
  wrong_credentials: false,
  exchange_failed: true,
  limiter_failed: true,
  bad_request: false,
  unauthorized: false,
  forbidden: false,
  not_found: false,
  conflict: false,
  key_reused: false,
  in_flight: true,
  rate_limited: true,
  service_failed: true,
  unexpected_status: false,
  unreachable: true,
  connection_lost: true,
  timed_out: true,
  aborted: true,
  unreadable_answer: true,
  unexpected_answer: false,
  secret_not_shown: false,
};
