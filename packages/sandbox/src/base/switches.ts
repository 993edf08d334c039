import * as z from "zod";

const wholeNumber = (min: number) => {
  const error = `Expected a whole number from ${min} on`;
  return z.coerce.number(error).int(error).min(min, error);
};

/** How the service behaves where its specification says two things, or nothing. The first value of a list is its default. */
export const switchesSchema = z.strictObject({
  /** The status while the first request with the same idempotency key is in flight. */
  inFlight: z.enum(["409", "423"]).default("409"),
  /** How many endpoints a client may have, active or not. */
  endpointCap: z.enum(["5", "3"]).default("5"),
  /** The meaning of `X-RateLimit-Reset`: Unix time in seconds, or seconds until the limit is reset. */
  rateLimitReset: z.enum(["epoch", "seconds"]).default("epoch"),
  /** Whether 2xx and 4xx answers to calls that the rate limit counts carry its headers. A 429 always does. */
  rateHeadersOn2xx: z.enum(["on", "off"]).default("on"),
  /** Whether calls are limited at all. Off by default on a manual clock. */
  rateLimit: z.enum(["on", "off"]).default("on"),
  /** How many calls of a client pass in any second of the service's clock. `RateLimit-Policy` names the number. */
  burst: wholeNumber(1).default(10),
  /** The bodies that the token endpoint takes. */
  tokenFormat: z.enum(["both", "form", "json"]).default("both"),
  /** Whether an operation's 4xx or 5xx answer is kept for its idempotency key, as its success is. Never kept: 401, 429, and the 409, 422 or 423 about the key itself. */
  cacheErrors: z.enum(["on", "off"]).default("on"),
  /** Whether the kept answer of a create or rotate call shows the signing secret again. */
  replayShowsSecret: z.enum(["on", "off"]).default("on"),
  /** The body of errors for which none is specified. */
  unstatedErrorBody: z.enum(["problem", "empty", "html"]).default("problem"),
  /** How long an endpoint may take to answer: ms in real time, also on a manual clock. */
  answerLimitMs: wholeNumber(1).default(30_000),
  /** The status of a delivery after an answer that is neither 2xx nor retried. */
  nonRetryable: z.enum(["failed", "exhausted"]).default("failed"),
  /** Whether `webhook-timestamp` is the time of the attempt, or of the delivery. */
  timestampPer: z.enum(["attempt", "delivery"]).default("attempt"),
  /** Whether two endpoints get one event under two ids, or under one. */
  idPer: z.enum(["delivery", "event"]).default("delivery"),
  /** Whether a 3xx answer ends a delivery, or is followed. */
  redirects: z.enum(["terminal", "follow"]).default("terminal"),
  /** `whsec_` and 32 bytes in base64, or 64 hexadecimal digits. */
  secretFormat: z.enum(["whsec32", "custom"]).default("whsec32"),
  /** How old a delivery is before it is listed: ms on the service's clock. */
  listingLagMs: wholeNumber(0).default(0),
  /** Whether the page after a cursor stays the same, or moves by every newer entry, so that entries repeat. */
  cursor: z.enum(["snapshot", "live"]).default("snapshot"),
  /** The status of a change that the state does not allow. */
  illegalTransition: z.enum(["409", "400", "422"]).default("409"),
  /** The status of an order above `maxProfiles`. */
  maxProfilesStatus: z.enum(["409", "403", "422"]).default("409"),
});

/**
 * All switches, with their values.
 * @useDeclaredType
 */
export type Switches = z.output<typeof switchesSchema>;

/**
 * Switches as they are set: by name, those that differ from their defaults.
 * @useDeclaredType
 */
export type SwitchSettings = z.input<typeof switchesSchema>;
