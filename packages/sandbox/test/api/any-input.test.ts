import fc from "fast-check";
import { expect, it } from "vitest";
import { fingerprintOf } from "../../src/api/call/idempotency.ts";
import { givenApi } from "./given-api.ts";

const calls = [
  "POST /management/webhooks",
  "POST /management/webhooks/WHE0/rotate-secret",
  "POST /esims",
  "POST /number/0000000000000000/allocate",
  "POST /profiles/0000000000000000/esims/000000000000000000/port-ins",
  "PATCH /profiles/0000000000000000/esims/000000000000000000/lifecycle",
  "POST /auth/token",
];

it("answers any body, with any idempotency key, without failing itself", async () => {
  const { call } = givenApi();
  const key = fc.stringMatching(/^[!-~]{1,300}$/);
  const body = fc.oneof(fc.json(), fc.string(), fc.json({ noUnicodeString: false }));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...calls), body, key, async (name, text, value) => {
      const answer = await call(name, text, { "x-idempotency-key": value });
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: 150 },
  );
});

it("answers any query and any path without failing itself", async () => {
  const { call } = givenApi();
  const text = fc.oneof(fc.string(), fc.base64String(), fc.integer().map(String));
  const cursor = fc
    .tuple(fc.constant("endpoints"), fc.double(), fc.double(), fc.double())
    .map((fields) => Buffer.from(JSON.stringify(fields)).toString("base64url"));
  await fc.assert(
    fc.asyncProperty(text, fc.oneof(text, cursor), text, async (limit, cursor, reference) => {
      const query = new URLSearchParams({ limit, cursor });
      const path = `/management/webhooks/${encodeURIComponent(reference)}/deliveries`;
      expect((await call(`GET /management/webhooks?${query}`)).status).toBeLessThan(500);
      expect((await call(`GET /management/webhooks?${new URLSearchParams({ cursor })}`)).status).toBeLessThan(
        500,
      );
      expect((await call(`GET ${path}?${query}`)).status).toBeLessThan(500);
    }),
    { numRuns: 100 },
  );
});

it("has one fingerprint for a body however its keys are ordered and its whitespace is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(8), (value, indent) => {
      expect(fingerprintOf(JSON.stringify(reversed(value), null, indent))).toBe(
        fingerprintOf(JSON.stringify(value)),
      );
    }),
  );
});

/** The same value, its keys in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}
