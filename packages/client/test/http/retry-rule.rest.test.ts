import { ApiError, type Method } from "@esim-webhooks/client";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Step } from "../script-service.ts";
import { scriptedClient } from "../scripted-client.ts";

const methods = ["GET", "POST", "PATCH", "DELETE"] as const;
const bodyOf = (method: Method) => (method === "POST" || method === "PATCH" ? { field: 1 } : undefined);

describe("no operation takes effect twice", () => {
  const step = fc.record({
    done: fc.boolean(),
    answer: fc.oneof(
      fc.constantFrom("drop" as const, "cut" as const, "hang" as const),
      fc.constantFrom(200, 201, 400, 401, 403, 404, 409, 422, 423, 429, 500, 502, 503, 504),
      fc.integer({ min: 200, max: 599 }),
    ),
    headers: fc.constantFrom({}, { "retry-after": "0" }, { "retry-after": "2" }, { "retry-after": "soon" }),
    body: fc.constantFrom(undefined, "", "<html>", '{"data":', '{"title":"no"}'),
  });
  const script = fc.array(step as fc.Arbitrary<Step>, { maxLength: 8 });

  it.each(methods)("%s: at most one effect, with any answer of the service, at any time", async (method) => {
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const { api, clock, service } = scriptedClient(steps);
        const result = await clock.run(
          api.request(method, "/path", bodyOf(method)).then(
            () => "done" as const,
            (error: ApiError) => error,
          ),
        );
        expect(service.effects).toBeLessThanOrEqual(1);
        expect(service.seen.length).toBeLessThanOrEqual(7); // 6, and one with a fresh token
        expect(new Set(service.seen.map(({ headers }) => headers.get("x-idempotency-key"))).size).toBe(1);
        expect(new Set(service.seen.map(({ body }) => body)).size).toBe(1);
        const says404 = steps.some(({ answer }) => answer === 404); // of an endpoint that is there: no service does
        if (result === "done" && method !== "GET" && !(method === "DELETE" && says404)) {
          expect(service.effects).toBe(1);
        }
        if (result === "done") return;
        expect(result).toBeInstanceOf(ApiError);
        expect(result.attempts).toBe(service.seen.length);
        expect(result.idempotencyKey ?? null).toBe(service.seen[0]?.headers.get("x-idempotency-key"));
      }),
      { numRuns: 300 },
    );
  });

  it.each(["POST", "PATCH"] as const)(
    "%s: calls again with the key of an error continue the operation",
    async (method) => {
      await fc.assert(
        fc.asyncProperty(script, async (steps) => {
          const { api, clock, service } = scriptedClient(steps);
          const call = (idempotencyKey?: string) =>
            clock.run(api.request(method, "/path", bodyOf(method), { idempotencyKey }));
          let key: string | undefined;
          for (;;) {
            const error = await call(key).then(
              () => undefined,
              (thrown: ApiError) => thrown,
            );
            if (error === undefined) break;
            key = error.idempotencyKey;
            expect(key).toBeDefined();
          }
          expect(service.effects).toBe(1);
        }),
        { numRuns: 100 },
      );
    },
  );
});
