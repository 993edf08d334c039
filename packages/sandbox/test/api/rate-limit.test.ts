import { describe, expect, it } from "vitest";
import { createRateLimit } from "../../src/api/call/rate-limit.ts";
import { runningClock } from "../../src/base/clock.ts";
import { testService } from "../service.ts";
import { givenApi } from "./given-api.ts";

const show = "GET /management/client";

it("lets 10 calls pass in any second, as its RateLimit-Policy says", async () => {
  const { call, service } = givenApi({ rateLimit: "on" });
  for (let left = 9; left >= 0; left--) {
    const answer = await call(show);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-ratelimit-limit")).toBe("10");
    expect(answer.headers.get("x-ratelimit-remaining")).toBe(String(left));
    expect(answer.headers.get("ratelimit-policy")).toBe("10;w=1");
    expect(answer.headers.has("x-ratelimit-reset")).toBe(false);
  }
  expect((await call(show)).status).toBe(429);
  service.pass(999);
  expect((await call(show)).status).toBe(429);
  service.pass(1);
  for (let count = 0; count < 10; count++) expect((await call(show)).status).toBe(200);
  expect((await call(show)).status).toBe(429);
});

it("lets no second have more than 10 calls, where they come 20 ms apart", () => {
  const service = testService();
  const limit = createRateLimit(service, 10);
  const passed: number[] = [];
  for (let ms = 0; ms < 3000; ms += 20) {
    if (limit.take("client")) passed.push(ms);
    service.pass(20);
  }
  const counts = passed.map((start) => passed.filter((ms) => ms >= start && ms < start + 1000).length);
  expect(Math.max(...counts)).toBe(10);
  expect(passed).toHaveLength(30);
});

it("says in a 429 that the clock stands still, which waiting does not mend", async () => {
  const { call, faults } = givenApi({ rateLimit: "on", burst: 2 });
  const detail = async () => ((await (await call(show)).json()) as { detail: string }).detail;
  faults.add({ kind: "rate_limit", call: "GET /management/client" });
  expect(await detail()).toMatch(/Wait as long as Retry-After says/); // the fault's: the next call passes
  await call(show);
  expect(await detail()).toBe(
    "Too many calls in one second. The clock stands still: advance it, or start the sandbox with the switch rateLimit=off.",
  );
});

it("limits each client by itself", async () => {
  const { call, callAsOther } = givenApi({ rateLimit: "on" });
  for (let count = 0; count < 11; count++) await call(show);
  expect((await callAsOther(show)).headers.get("x-ratelimit-remaining")).toBe("9");
});

it("limits the token endpoint by itself, at 30 for all clients", async () => {
  const { api, call } = givenApi({ rateLimit: "on" });
  const ask = () => api.request("/api/v3/auth/token", { method: "POST", body: new URLSearchParams() });
  for (let left = 29; left >= 0; left--) {
    expect((await ask()).headers.get("x-ratelimit-remaining")).toBe(String(left));
  }
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get("x-ratelimit-limit")).toBe("30");
  expect(refused.headers.get("ratelimit-policy")).toBe("30;w=1");
  expect((await call(show)).status).toBe(200);
});

describe.each(["epoch", "seconds"] as const)("a 429 with the switch rateLimitReset: %s", (rateLimitReset) => {
  it("has all headers of the limit, also where other answers have none", async () => {
    const { call } = givenApi({ rateLimit: "on", rateLimitReset, burst: 25, rateHeadersOn2xx: "off" });
    for (let count = 0; count < 25; count++) await call(show);
    const before = Math.floor(Date.now() / 1000);
    const refused = await call(show);
    const after = Math.floor(Date.now() / 1000);
    expect(refused.status).toBe(429);
    const headers = Object.fromEntries(refused.headers);
    expect(headers).toMatchObject({
      "x-ratelimit-limit": "25",
      "x-ratelimit-remaining": "0",
      "ratelimit-policy": "25;w=1",
      "retry-after": "1",
    });
    const reset = Number(headers["x-ratelimit-reset"]);
    if (rateLimitReset === "seconds") expect(reset).toBe(1);
    else expect([before + 1, after + 1]).toContain(reset);
  });
});

it("tells the limit on 4xx, and not on 401 (whose limit would it be?) and 500", async () => {
  const { call, faults } = givenApi({ rateLimit: "on" });
  expect((await call("GET /management/webhooks?limit=0")).headers.has("x-ratelimit-limit")).toBe(true);
  expect((await call(show, undefined, { authorization: "" })).headers.has("x-ratelimit-limit")).toBe(false);
  faults.add({ kind: "error" });
  expect((await call(show)).headers.has("x-ratelimit-limit")).toBe(false);
});

it("tells nothing on other answers with the switch rateHeadersOn2xx: off", async () => {
  const { call } = givenApi({ rateLimit: "on", rateHeadersOn2xx: "off" });
  const { headers } = await call(show);
  expect([...headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
});

it("limits nothing with the switch rateLimit: off", async () => {
  const { call } = givenApi({ rateLimit: "off" });
  for (let count = 0; count < 50; count++) {
    const answer = await call(show);
    expect(answer.status).toBe(200);
    expect(answer.headers.has("x-ratelimit-limit")).toBe(false);
  }
});

it("lets fewer pass in a second by the switch burst", async () => {
  const { call } = givenApi({ rateLimit: "on", burst: 1 });
  expect((await call(show)).status).toBe(200);
  expect((await call(show)).status).toBe(429);
});

it("tells waits in real time where the service's clock is fast", () => {
  const service = { ...testService({ rateLimitReset: "seconds" }), clock: runningClock(0.01) };
  const limit = createRateLimit(service, 10);
  for (let count = 0; count < 10; count++) limit.take("client");
  const { headers } = limit.refusal("client");
  // 1 s of a clock that is 100 times slower
  expect([99, 100]).toContain(Number(headers["retry-after"]));
  expect([99, 100]).toContain(Number(headers["x-ratelimit-reset"]));
});
