import { createWorker } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { entry, key } from "../../../../test/inbox-entry.ts";
import { keptLog } from "../../../../test/support/kept-log.ts";
import { errorText, fittedError, readErrorText } from "../../src/store/error-text.ts";
import { encodeAttempt } from "../../src/store/history.ts";

const messageOf = (thrown: unknown) => readErrorText(errorText(thrown)).error;

/** `Error: 1` with the cause `Error: 2`, and so on. */
function chain(length: number): Error {
  let error: Error | undefined;
  for (let number = length; number > 0; number -= 1)
    error = new Error(`no. ${number}`, error && { cause: error });
  return error ?? new Error("none");
}

describe("the text of an error", () => {
  it("names its causes, from the outer to the inner one", () => {
    const refused = new Error("connect ECONNREFUSED 127.0.0.1:5432");
    const failed = new TypeError("fetch failed", { cause: refused });
    expect(messageOf(new Error("CRM failed", { cause: failed }))).toBe(
      "Error: CRM failed: caused by: TypeError: fetch failed: caused by: Error: connect ECONNREFUSED 127.0.0.1:5432",
    );
    expect(messageOf(new Error("CRM failed", { cause: "no route" }))).toBe(
      "Error: CRM failed: caused by: no route",
    );
  });

  it("has the frames of the outer error alone", () => {
    const error = new Error("outer", { cause: new Error("inner") });
    const { stack } = readErrorText(errorText(error));
    expect(stack?.split("\n")).toEqual(
      readErrorText(error.stack ?? "")
        .stack?.split("\n")
        .slice(0, 10),
    );
  });

  it("names the first of several errors, and repeats no message that a wrapper has quoted", () => {
    const refused = new Error("connect ECONNREFUSED ::1:443");
    const each = new AggregateError([refused, new Error("connect ECONNREFUSED 127.0.0.1:443")]);
    expect(messageOf(new TypeError("fetch failed", { cause: each }))).toBe(
      "TypeError: fetch failed: caused by: Error: connect ECONNREFUSED ::1:443",
    );
    expect(messageOf(new Error(`CRM: ${refused.message}`, { cause: refused }))).toBe(
      "Error: CRM: connect ECONNREFUSED ::1:443",
    );
  });

  it("has at most five causes, and ends where the causes are a cycle or cannot be read", () => {
    expect(messageOf(chain(9))?.match(/no\. \d/g)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `no. ${n}`));
    const inner: Error = new Error("inner");
    const outer = new Error("outer", { cause: inner });
    inner.cause = outer;
    expect(messageOf(outer)).toBe("Error: outer: caused by: Error: inner");
    expect(messageOf(new Error("outer", { cause: Object.create(null) }))).toBe(
      "Error: outer: caused by: A value was thrown that cannot be converted to text.",
    );
  });

  it("leaves room for the causes of a long message, in the 500 characters of an attempt and below", () => {
    const text = errorText(new Error("x".repeat(9000), { cause: new Error("connect ECONNREFUSED") }));
    for (const most of [500, 100]) {
      const fitted = fittedError(readErrorText(text).error ?? "", most);
      expect(fitted).toMatch(
        most === 500 ? /^Error: x+: caused by: Error: connect ECONNREFUSED$/ : /^Error: x+: caused by: /,
      );
      expect(fitted).toHaveLength(most);
    }
    const report = {
      reason: "failed",
      durationMs: 1,
      error: readErrorText(text).error ?? "",
      worker: "w",
    } as const;
    expect(JSON.parse(encodeAttempt(report)).error).toMatch(/caused by: Error: connect ECONNREFUSED$/);
  });
});

it("keeps the causes of what a handler threw in the last error, the history, masked there, and the log", async () => {
  const type = "esim.enabled";
  const inbox = memoryInbox();
  await inbox.put([entry("msg_1", { type })]);
  const thrown = new Error("CRM failed", { cause: new Error("no SIM 8932042000001234567") });
  const logger = keptLog();
  const stop = new AbortController();
  const options = { maxAttempts: 1, pollMs: 10, logger };
  const running = createWorker(inbox, { [type]: () => Promise.reject(thrown) }, options).run({
    signal: stop.signal,
  });
  await expect.poll(() => logger.error.mock.calls.length).toBe(1);
  stop.abort();
  await running;
  const text = "Error: CRM failed: caused by: Error: no SIM 8932042000001234567";
  const kept = await inbox.get(key("msg_1"));
  expect(kept?.error).toBe(text); // what shows it masks it, as it masks the message
  expect(kept?.history.map(({ error }) => error)).toEqual([
    "Error: CRM failed: caused by: Error: no SIM •••",
  ]);
  expect(logger.error.mock.calls[0]?.[0]).toMatchObject({ outcome: "dead", cause: text, err: thrown });
});
