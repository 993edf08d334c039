import { describe, expect, it } from "vitest";
import { readRate, retryAfterMs } from "../../src/limit/rate.ts";

const date = "Fri, 20 Nov 2026 09:00:00 GMT";
const epoch = Date.parse(date) / 1000;
const read = (status: number, headers: Record<string, string>) => readRate(status, new Headers(headers));

describe("X-RateLimit-Reset", () => {
  it.each([
    ["Unix time, by the service's own clock", { date, "x-ratelimit-reset": String(epoch + 3) }, 3000],
    ["seconds that are left", { date, "x-ratelimit-reset": "3" }, 3000],
    ["Unix time that is over", { date, "x-ratelimit-reset": String(epoch - 3) }, 0],
    ["nothing that makes sense", { date, "x-ratelimit-reset": "soon" }, 1000],
    ["a time that is years away", { date, "x-ratelimit-reset": String(epoch + 1e8) }, 1000],
    ["missing", {}, 1000],
  ])("is read when it is %s", (_, headers, pauseMs) => {
    expect(read(429, headers)).toMatchObject({ remaining: 0, pauseMs });
    expect(read(200, { "x-ratelimit-remaining": "0", ...headers })).toMatchObject({ remaining: 0, pauseMs });
  });

  it("does not count beside Retry-After", () => {
    expect(read(429, { "retry-after": "2", "x-ratelimit-reset": "9" }).pauseMs).toBe(2000);
  });

  it("pauses nothing while calls remain", () => {
    expect(read(200, { "x-ratelimit-remaining": "4", "x-ratelimit-reset": "9" }).pauseMs).toBeUndefined();
  });
});

describe("Retry-After", () => {
  it.each([
    ["2", 2000],
    ["0", 0],
    ["0.5", 500],
    ["Fri, 20 Nov 2026 09:00:10 GMT", 10_000],
    ["Fri, 20 Nov 2026 08:00:00 GMT", 0],
    ["99999999999", 24 * 60 * 60 * 1000],
    ["-1", undefined],
    ["soon", undefined],
    ["", undefined],
  ])("%j is %s ms", (value, ms) => {
    expect(retryAfterMs(new Headers({ date, "retry-after": value }))).toBe(ms);
  });
});

describe("RateLimit-Policy", () => {
  it.each([
    ["10;w=1", { calls: 10, windowMs: 1000 }],
    ['"default";q=100;w=60', { calls: 100, windowMs: 60_000 }],
    ['10;w=1;comment="per client"', { calls: 10, windowMs: 1000 }],
    ["0;w=1", undefined],
    ["ten per second", undefined],
    ["10", undefined],
  ])("%j is %o", (value, policy) => {
    expect(read(200, { "ratelimit-policy": value }).policy).toEqual(policy);
  });
});
