import { expect, it } from "vitest";
import type { Outcome, OutcomeCode } from "../../src/receive/outcome.ts";
import { logLevelOf, replyTo, verdictOf } from "../../src/receive/reply.ts";

/** The status, the level of the log line, and what the answer says about the delivery and the receiver. */
const contract: Record<OutcomeCode, string> = {
  processed: "200 info accepted",
  duplicate: "200 info accepted",
  discarded: "200 info accepted",
  unknown_type: "200 info accepted",
  unhandled_type: "200 info accepted",
  stored: "202 info accepted",
  already_stored: "202 info accepted",
  conflict: "202 error accepted",
  busy: "503 info deferred",
  retry_later: "503 info deferred",
  shutting_down: "503 info deferred",
  rotating: "503 warn failed",
  deadline_reached: "503 error failed",
  lease_lost: "503 error failed",
  store_unavailable: "503 error failed",
  keys_unavailable: "503 error failed",
  missing_secret: "503 error failed",
  key_not_yet_valid: "503 error failed",
  unusable_header: "503 error failed",
  timestamp_out_of_tolerance: "503 error failed",
  too_large: "503 error failed",
  overloaded: "503 error failed",
  unsupported_encoding: "503 error failed",
  failed: "500 error failed",
  invalid: "500 error failed",
  body_consumed: "500 error failed",
  internal_error: "500 error failed",
  missing_header: "400 warn refused",
  malformed_header: "400 warn refused",
  no_matching_key: "401 warn refused",
  unknown_endpoint: "404 warn refused",
  endpoint_unconfirmed: "503 info deferred",
  method_not_allowed: "405 info refused",
  body_incomplete: "408 warn refused",
};

it.each(Object.entries(contract))("%s is answered, logged and judged as %s", (code, expected) => {
  const outcome = { code } as Outcome;
  const { status, headers, body } = replyTo(outcome);
  expect(`${status} ${logLevelOf(outcome)} ${verdictOf(outcome.code)}`).toBe(expected);
  if (status < 300) {
    expect(headers).toEqual({ "content-type": "application/json" });
    expect(JSON.parse(body)).toEqual({ outcome: code });
    return;
  }
  expect(headers).toEqual({
    "content-type": "application/problem+json",
    ...(status === 503 && { "retry-after": "5" }),
    ...(status === 405 && { allow: "POST" }),
  });
  expect(JSON.parse(body)).toEqual({
    type: `urn:esim-webhooks:${code}`,
    title: expect.stringMatching(/^[A-Z][\w -]+$/),
    status,
    code,
  });
});

it.each([
  [0, "1"],
  [1, "1"],
  [1001, "2"],
  [Number.NaN, "1"],
  [1e24, "86400"],
])("a retry after %d ms is asked for in %s s: whole seconds, from one to a day", (retryAfterMs, seconds) => {
  expect(replyTo({ code: "retry_later", retryAfterMs }).headers["retry-after"]).toBe(seconds);
});
