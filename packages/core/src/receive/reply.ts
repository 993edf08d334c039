import type { Outcome, OutcomeCode } from "./outcome.ts";

/** The answer to the sender, ready for any framework to write. */
export interface Reply {
  /** The HTTP status. */
  readonly status: number;
  /** In lower case: `content-type`; `retry-after` with a 503, in seconds; `allow` with a 405. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON: `{"outcome"}`, or a problem (RFC 9457) with the code. */
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly log: "info" | "warn" | "error";
  /** The text of a problem, which the sender reads and keeps. Fixed, so that it reveals nothing. */
  readonly title?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The pause that a 503 asks for by default. The sender follows its own schedule. */
const soon = { "retry-after": "5" };

/**
 * The status contract. The sender retries on 5xx, 408, time-outs and connection errors and on nothing else, so any
 * other status for a delivery that was not accepted loses its event, if it is authentic.
 */
const answers: Readonly<Record<OutcomeCode, Answer>> = {
  processed: { status: 200, log: "info" },
  duplicate: { status: 200, log: "info" },
  discarded: { status: 200, log: "info" },
  unknown_type: { status: 200, log: "info" },
  unhandled_type: { status: 200, log: "info" },
  stored: { status: 202, log: "info" },
  already_stored: { status: 202, log: "info" },
  conflict: { status: 202, log: "error" },
  busy: { status: 503, log: "info", title: "This event is being worked right now" },
  retry_later: { status: 503, log: "info", title: "Not ready for this event yet" },
  deadline_reached: { status: 503, log: "error", title: "No result in time" },
  lease_lost: { status: 503, log: "error", title: "The claim on this event was lost" },
  store_unavailable: { status: 503, log: "error", title: "Temporarily unavailable" },
  shutting_down: { status: 503, log: "info", title: "Shutting down" },
  rotating: { status: 503, log: "warn", title: "Signing keys are being rotated" },
  keys_unavailable: { status: 503, log: "error", title: "Temporarily unavailable" },
  missing_secret: { status: 503, log: "error", title: "The receiver is not set up correctly" },
  key_not_yet_valid: { status: 503, log: "error", title: "The signing key is not valid yet" },
  unusable_header: {
    status: 503,
    log: "error",
    title: "A signature header cannot be used",
  },
  timestamp_out_of_tolerance: {
    status: 503,
    log: "error",
    title: "The timestamp is outside the tolerance",
  },
  failed: { status: 500, log: "error", title: "The event could not be processed" },
  invalid: { status: 500, log: "error", title: "The event is not of the expected form" },
  body_consumed: { status: 500, log: "error", title: "The receiver is not set up correctly" },
  internal_error: { status: 500, log: "error", title: "Internal error" },
  missing_header: { status: 400, log: "warn", title: "A signature header is missing" },
  malformed_header: { status: 400, log: "warn", title: "A signature header is malformed" },
  no_matching_key: { status: 401, log: "warn", title: "The signature matches no key" },
  unknown_endpoint: { status: 404, log: "warn", title: "There is no such endpoint" },
  endpoint_unconfirmed: { status: 503, log: "info", title: "This endpoint is not known yet" },
  method_not_allowed: { status: 405, log: "info", title: "Only POST is allowed", headers: { allow: "POST" } },
  body_incomplete: { status: 408, log: "warn", title: "The body ended too early" },
  too_large: { status: 503, log: "error", title: "The body is too large" },
  overloaded: { status: 503, log: "error", title: "Too many bodies at the same time" },
  unsupported_encoding: {
    status: 503,
    log: "error",
    title: "Content-Encoding is not supported",
  },
};

const daySeconds = 24 * 60 * 60;

/** The reply of each outcome code. */
const replies = Object.fromEntries(
  Object.entries(answers).map(([code, answer]) => [code, replyOf(code, answer)]),
) as Record<OutcomeCode, Reply>;

function replyOf(code: string, { status, title, headers = status === 503 ? soon : {} }: Answer): Reply {
  const [type, body] =
    title === undefined
      ? ["application/json", { outcome: code }]
      : ["application/problem+json", { type: `urn:esim-webhooks:${code}`, title, status, code }];
  return { status, headers: { "content-type": type, ...headers }, body: JSON.stringify(body) };
}

/** Returns the reply to an outcome. If the outcome has `retryAfterMs`, `retry-after` is that in whole seconds, from 1 to a day. */
export function replyTo(outcome: Outcome): Reply {
  const reply = replies[outcome.code];
  if (!("retryAfterMs" in outcome)) return reply;
  const seconds = Math.ceil(outcome.retryAfterMs / 1000) || 1;
  const retryAfter = String(Math.min(Math.max(1, seconds), daySeconds));
  return { ...reply, headers: { ...reply.headers, "retry-after": retryAfter } };
}

/**
 * Classifies an outcome, for alerts. `refused`: 4xx. `deferred`: 503 as intended, since the event is being
 * handled, its handler asked for it again, its endpoint will be looked up again, or the receiver closes. `failed`: every other 5xx.
 */
export function verdictOf(code: OutcomeCode): "accepted" | "refused" | "deferred" | "failed" {
  const { status, log } = answers[code];
  if (status < 400) return "accepted";
  if (status < 500) return "refused";
  return log === "info" ? "deferred" : "failed";
}

/** The log level of an outcome. */
export function logLevelOf(outcome: Outcome): Answer["log"] {
  if ("conflict" in outcome) return "error"; // the same id with another body
  return answers[outcome.code].log;
}
