import type { ApiError, Method } from "@esim-webhooks/client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import type { Operation } from "../../src/http/operation.ts";
import { judge, noHistory } from "../../src/http/retry-rule.ts";
import type { Step } from "../script-service.ts";
import { scriptedClient } from "../scripted-client.ts";

const methods = ["GET", "POST", "PATCH", "DELETE"] as const;
const bodyOf = (method: Method) => (method === "POST" || method === "PATCH" ? { field: 1 } : undefined);

const operation = (name: string, method: Method): Operation => ({
  name,
  method,
  url: "http://127.0.0.1:9/",
  headers: {},
  body: undefined,
  idempotencyKey: bodyOf(method) && "key",
  isHarmless: method === "GET",
  isConfidential: false,
  priority: "normal",
});
const answer = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  ({ kind: "answered", status, headers: new Headers(headers), body: { kind: "empty" } }) as const;

/** The first attempt gets this answer, the second one succeeds. Whether there is a second one. */
async function triesAgain(method: Method, step: Step): Promise<boolean> {
  const { api, clock, service } = scriptedClient([step]);
  await clock.run(api.request(method, "/path", bodyOf(method))).catch(() => {});
  return service.seen.length === 2;
}

describe("what is tried again", () => {
  const statuses = Array.from({ length: 300 }, (_, index) => index + 300);

  it.each(methods)(
    "of all statuses, %s is tried again after 401, 423, 429, 409 with Retry-After, and 5xx",
    (method) => {
      const repeated = (headers?: Readonly<Record<string, string>>) =>
        statuses.filter((status) =>
          /retry|renew/.test(judge(operation("request", method), answer(status, headers), noHistory).next),
        );
      const failures = Array.from({ length: 100 }, (_, index) => index + 500);
      expect(repeated()).toEqual([401, 423, 429, ...failures]);
      expect(repeated({ "retry-after": "1" })).toEqual([401, 409, 423, 429, ...failures]);
    },
  );

  it.each(methods)(
    "%s is tried again when the connection fails, is cut, or no answer comes",
    async (method) => {
      expect(await triesAgain(method, { answer: "drop" })).toBe(true);
      expect(await triesAgain(method, { answer: "cut" })).toBe(true);
      expect(await triesAgain(method, { answer: "hang" })).toBe(true);
    },
  );
});

it("what may be done already is not repeated without an idempotency key, unless it is harmless or a DELETE", () => {
  const lost = { kind: "lost", code: "timed_out", cause: new Error() } as const;
  for (const attempt of [lost, answer(503)]) {
    const next = (change: Partial<Operation>) =>
      judge({ ...operation("request", "POST"), idempotencyKey: undefined, ...change }, attempt, noHistory)
        .next;
    expect([
      next({}),
      next({ isHarmless: true }),
      next({ idempotencyKey: "key" }),
      next({ method: "DELETE" }),
    ]).toEqual(["fail", "retry", "retry", "retry"]);
  }
});

it("after a lost answer, only a DELETE that is answered 404 is done", () => {
  const history = { ...noHistory, mayBeDone: true };
  const next = (method: Method, status: number) =>
    judge(operation("request", method), answer(status), history).next;
  expect([next("DELETE", 404), next("DELETE", 403), next("GET", 404), next("POST", 404)]).toEqual([
    "gone",
    "fail",
    "fail",
    "fail",
  ]);
});

it("a token that ends between two attempts is renewed", async () => {
  const { api, clock, service } = scriptedClient([{ answer: 423 }, { answer: "drop" }, { answer: 401 }]);
  await clock.run(api.request("POST", "/path", {}));
  expect([service.tokens, service.effects]).toEqual([2, 1]);
});

it("a 409 of numbers.allocate is in flight even if a proxy dropped Retry-After: a new key could allocate a second number", () => {
  expect(judge(operation("numbers.allocate", "POST"), answer(409), noHistory)).toMatchObject({
    next: "retry",
    code: "in_flight",
  });
  expect(judge(operation("portIns.create", "POST"), answer(409), noHistory)).toEqual({
    next: "fail",
    code: "conflict",
  });
});

describe("how long it waits", () => {
  it.each([429, 423, 409, 503])(
    "after %d, as long as Retry-After says and at most half a second more",
    async (answer) => {
      const { api, clock, service } = scriptedClient([{ answer, headers: { "retry-after": "7" } }]);
      await clock.run(api.request("POST", "/path", {}));
      const [first, second] = service.seen;
      const waitedMs = (second?.at ?? 0) - (first?.at ?? 0);
      expect(waitedMs).toBeGreaterThanOrEqual(7000);
      expect(waitedMs).toBeLessThan(7501);
    },
  );

  it("waits up to half a second more, and says in the log what it waits for", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => void random.mockRestore());
    const lines: object[] = [];
    const script = [{ answer: 429, headers: { "retry-after": "7" } }] as const;
    const { api, clock } = scriptedClient(script, { logger: loggerTo((fields) => void lines.push(fields)) });
    await clock.run(api.request("POST", "/path", {}));
    expect(lines).toContainEqual({ operation: "request", attempt: 1, reason: "rate_limited", pauseMs: 7250 });
  });

  it("gives each of many calls that were refused together a time of its own", async () => {
    const refusals = Array.from(
      { length: 10 },
      () => ({ answer: 423, headers: { "retry-after": "1" } }) as const,
    );
    const { api, clock, service } = scriptedClient(refusals);
    await clock.run(Promise.all(refusals.map(() => api.request("POST", "/path", {}))));
    expect(new Set(service.seen.slice(10).map(({ at }) => at)).size).toBeGreaterThan(1);
  });

  it("fails at once when the service asks for more time than the call has, and says how much", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 429, headers: { "retry-after": "3600" } }]);
    const startedAt = clock.now();
    const error = await clock.run(api.client.get().catch((thrown: ApiError) => thrown));
    expect(error).toMatchObject({
      code: "rate_limited",
      retryable: true,
      retryAfterMs: 3_600_000,
      attempts: 1,
    });
    expect(service.seen).toHaveLength(1);
    expect(clock.now()).toBe(startedAt);
  });
});

describe("bounds", () => {
  it("stops after maxAttempts, and the error has the key, the attempts and the status", async () => {
    const { api, clock, service } = scriptedClient(
      Array.from({ length: 10 }, () => ({ answer: 423 })),
      { maxAttempts: 4 },
    );
    const error = await clock.run(api.request("POST", "/path", {}).catch((thrown: ApiError) => thrown));
    expect(service.seen).toHaveLength(4);
    expect(error).toMatchObject({ code: "in_flight", status: 423, attempts: 4, retryable: true });
    expect(error).toMatchObject({
      idempotencyKey: service.seen[0]?.headers.get("x-idempotency-key"),
      message: expect.stringContaining("error.idempotencyKey"),
    });
  });

  it("stops a POST at its third 500, which may be the kept answer of the first one; a GET goes on", async () => {
    const failing = Array.from({ length: 10 }, () => ({ answer: 500 }));
    for (const [method, attempts] of [
      ["POST", 3],
      ["GET", 6],
    ] as const) {
      const { api, clock, service } = scriptedClient(failing);
      const error = await clock.run(api.request(method, "/path").catch((thrown: ApiError) => thrown));
      expect(error).toMatchObject({ code: "service_failed", status: 500, attempts });
      expect(service.seen).toHaveLength(attempts);
    }
  });

  it("stops at the overall timeout, in the middle of an attempt too", async () => {
    const { api, clock } = scriptedClient([{ answer: "hang" }]);
    const startedAt = clock.now();
    const error = await clock.run(
      api.request("POST", "/path", {}, { timeoutMs: 5000 }).catch((thrown: ApiError) => thrown),
    );
    expect(error).toMatchObject({ code: "timed_out", attempts: 1, retryable: true });
    expect(clock.now() - startedAt).toBe(5000);
  });

  it("stops when the caller's signal aborts, with the key to continue with", async () => {
    const { api, clock, service } = scriptedClient([{ answer: "hang" }]);
    const controller = new AbortController();
    const call = api
      .request("POST", "/path", {}, { signal: controller.signal })
      .catch((thrown: ApiError) => thrown);
    await expect.poll(() => service.seen.length).toBe(1);
    controller.abort(new Error("the handler's deadline"));
    const error = await clock.run(call);
    expect(error).toMatchObject({ code: "aborted", attempts: 1, cause: controller.signal.reason });
    expect(error).toHaveProperty("idempotencyKey", service.seen[0]?.headers.get("x-idempotency-key"));
  });

  it("sends nothing when the signal has aborted before", async () => {
    const { api, clock, service } = scriptedClient();
    const error = await clock.run(
      api.client.get({ signal: AbortSignal.abort() }).catch((thrown: ApiError) => thrown),
    );
    expect(error).toMatchObject({ code: "aborted", attempts: 0 });
    expect(service.seen).toEqual([]);
  });
});

describe("DELETE", () => {
  it("is done when it is answered 404 after a lost answer", async () => {
    for (const answer of ["drop", "cut", "hang", 500] as const) {
      const { api, clock, service } = scriptedClient([{ done: true, answer }]);
      expect(await clock.run(api.webhooks.delete("abc"))).toBeUndefined();
      expect(service.effects).toBe(1);
    }
  });

  it("is done though the 404 says why", async () => {
    const { api, clock } = scriptedClient([{ answer: "drop" }, { answer: 404, body: '{"title":"No"}' }]);
    expect(await clock.run(api.webhooks.delete("abc"))).toBeUndefined();
  });

  it("is not done when it is answered 404 at once, or after a refusal that did nothing", async () => {
    for (const script of [[{ answer: 404 }], [{ answer: 429 }, { answer: 404 }]]) {
      const { api, clock } = scriptedClient(script);
      const error = await clock.run(api.webhooks.delete("abc").catch((thrown: ApiError) => thrown));
      expect(error).toMatchObject({ code: "not_found", status: 404, retryable: false });
    }
  });
});
