import { type CallMessage, observeCalls } from "@esim-webhooks/client";
import { expect, it } from "vitest";
import type { Step } from "./script-service.ts";
import { scriptedClient } from "./scripted-client.ts";

it("tells of each call, and of the exchange of its token, once it has ended", async () => {
  const messages: CallMessage[] = [];
  const stop = observeCalls((message) => void messages.push(message));
  const script: Step[] = [
    { answer: 423, headers: { "retry-after": "2" } },
    { answer: 200 },
    { answer: 404 },
    { answer: "drop" },
    { answer: "drop" },
  ];
  const { api, clock } = scriptedClient(script, { maxAttempts: 2 });
  await clock.run(api.esims.order({}));
  await clock.run(api.client.get()).catch(() => {});
  await clock.run(api.request("GET", "/")).catch(() => {});
  await api.request("GET", "/", undefined, { signal: AbortSignal.abort() }).catch(() => {});
  stop();
  await clock.run(api.request("GET", "/"));
  expect(messages).toMatchObject([
    { operation: "auth.token", method: "POST", status: 200, attempts: 1, outcome: "ok" },
    { operation: "esims.order", method: "POST", status: 200, attempts: 2, outcome: "ok" },
    {
      operation: "client.get",
      method: "GET",
      status: 404,
      attempts: 1,
      outcome: "not_found",
      error: { code: "not_found" },
    },
    {
      operation: "request",
      method: "GET",
      attempts: 2,
      outcome: "unreachable",
      error: expect.any(Error),
    },
    { operation: "request", attempts: 0, outcome: "aborted" },
  ]);
  const [token, order] = messages;
  expect(token?.waitMs).toBe(0);
  expect(order?.waitMs).toBeGreaterThanOrEqual(2000);
  expect(order?.durationMs).toEqual(expect.any(Number));
  expect(messages[3]).not.toHaveProperty("status");
});

it.each([
  ["object", {}],
  ["null", null],
])("refuses a listener that is no function, but %s", (kind, listener) => {
  expect(() => observeCalls(listener as never)).toThrow(
    expect.objectContaining({
      code: "invalid_option",
      message: expect.stringMatching(new RegExp(`^observeCalls: .*, not ${kind}\\.`)),
    }),
  );
});
