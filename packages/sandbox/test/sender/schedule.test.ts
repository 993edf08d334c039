import fc from "fast-check";
import { expect, test } from "vitest";
import { advance } from "../../src/sender/advance.ts";
import { hourMs, testService } from "../service.ts";
import { startEndpoint } from "./endpoint.ts";
import { startSending } from "./sending.ts";

/** Seconds before each attempt, as the service's specification has them. */
const delays = [0, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800];
const dueAfter = delays.map((_, index) => delays.slice(0, index + 1).reduce((a, b) => a + b) * 1000);

test("makes ten attempts to the second, then gives up", async () => {
  const service = testService();
  await using endpoint = await startEndpoint(() => 503, service.clock);
  await using sending = startSending(service);
  const registered = sending.register(endpoint.url);
  const start = service.clock.now();
  sending.emit();
  await sending.sender.settle();
  expect(sending.list(registered)).toMatchObject([
    { status: "failed", attemptNumber: 1, nextRetryAt: new Date(start + 30_000).toISOString() },
  ]);

  await advance(service.clock, sending.sender, 48 * hourMs);
  expect(endpoint.got.map(({ at }) => at - start)).toEqual(dueAfter);
  expect(dueAfter.at(-1)).toBe(((15 * 60 + 51) * 60 + 30) * 1000);
  expect(service.clock.now()).toBe(start + 48 * hourMs);
  expect(sending.list(registered)).toMatchObject([
    {
      status: "exhausted",
      attemptNumber: 10,
      httpStatus: 503,
      responseBody: "answer 10",
      nextRetryAt: null,
      sentAt: new Date(start + (dueAfter.at(-1) ?? 0)).toISOString(),
      deliveredAt: null,
    },
  ]);
  expect(sending.sender.nextDueAt()).toBeUndefined();
});

test("for random answers of an endpoint, the attempts are exactly those of the table", async () => {
  const answers = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(500, 502, 503, 504, 599, 408) },
      fc.constantFrom(200, 201, 204, 299, 304, 400, 401, 403, 404, 409, 410, 422, 429, 499),
    ),
    { minLength: 10, maxLength: 10 },
  );
  await fc.assert(
    fc.asyncProperty(answers, async (statuses) => {
      const service = testService();
      await using endpoint = await startEndpoint((n) => statuses[n - 1] ?? 200, service.clock);
      await using sending = startSending(service);
      const registered = sending.register(endpoint.url);
      const start = service.clock.now();
      sending.emit();
      await advance(service.clock, sending.sender, 48 * hourMs);

      const last = statuses.findIndex((status) => status < 500 && status !== 408);
      const attempts = last === -1 ? 10 : last + 1;
      expect(endpoint.got.map(({ at }) => at - start)).toEqual(dueAfter.slice(0, attempts));
      const status = last === -1 ? "exhausted" : (statuses[last] ?? 0) < 300 ? "delivered" : "failed";
      expect(sending.list(registered)).toMatchObject([
        { status, attemptNumber: attempts, httpStatus: statuses[attempts - 1], nextRetryAt: null },
      ]);
    }),
    { numRuns: 40 },
  );
});
