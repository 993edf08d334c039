import type { ApiClient, ApiError } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { scriptedClient } from "../scripted-client.ts";

/** What a call is refused with before anything is sent. */
async function refusalOf(call: (api: ApiClient) => Promise<unknown>): Promise<string> {
  const { api, clock, service } = scriptedClient();
  const error = await clock.run(call(api).catch((thrown: ApiError) => thrown));
  expect(error).toMatchObject({ code: "invalid_request", attempts: 0, retryable: false });
  expect(service.seen).toEqual([]);
  expect(service.tokens).toBe(0);
  return (error as ApiError).message;
}

const details = { donorContractType: "prepaid" } as const;
const address = { street: "s", city: "c", postalCode: "p", countryCode: "BE" };
const customerInfo = { firstName: "f", lastName: "l", address };
const allocation = { esimReference: "e", countryCode: "BE", customerInfo };

describe("a number to port in", () => {
  it.each(["32470123456", "31612345678", "447700900123", "1234567"])("%s may be right", async (msisdn) => {
    const { api, clock, service } = scriptedClient();
    await clock.run(api.portIns.create("p", "e", { msisdn, details })).catch(() => {});
    expect(service.seen).toHaveLength(1);
  });

  it.each([
    ["+32470123456", "without \\+"],
    ["0470123456", "without a leading 0"],
    ["0032470123456", "without a leading 0"],
    ["32 470 12 34 56", "expected digits"],
    ["3247012345", "324 and 8 digits for Belgium"],
    ["3221234567", "324 and 8 digits for Belgium"],
    ["32047012345", "324 and 8 digits for Belgium"],
    ["3161234567", "316 and 8 digits for the Netherlands"],
    ["31201234567", "316 and 8 digits for the Netherlands"],
  ])("%s cannot be right, and is not quoted", async (msisdn, expected) => {
    const message = await refusalOf((api) => api.portIns.create("p", "e", { msisdn, details }));
    expect(message).toMatch(new RegExp(`"msisdn": .*${expected}`));
    expect(message).not.toContain(msisdn);
  });
});

describe("a request is checked before it is sent", () => {
  const wrong = (change: object) => ({ ...allocation, ...change }) as never;
  it.each<[string, (api: ApiClient) => Promise<unknown>, RegExp]>([
    [
      "an unknown field",
      (api) => api.numbers.allocate("p", wrong({ esim: "e" })),
      /there is no field "esim"/,
    ],
    [
      "a missing field",
      (api) => api.numbers.allocate("p", wrong({ customerInfo: {} })),
      /"customerInfo\.address"/,
    ],
    [
      "a wrong type",
      (api) => api.numbers.allocate("p", wrong({ isPrimary: "yes" })),
      /"isPrimary": .*boolean/,
    ],
    ["a country", (api) => api.numbers.allocate("p", wrong({ countryCode: "BELGIUM" })), /2 to 6 letters/],
    ["a number type", (api) => api.numbers.allocate("p", wrong({ type: "voip" })), /"type": .*"tollfree"/],
    [
      "donor details",
      (api) =>
        api.portIns.create("p", "e", { msisdn: "32470123456", details: { ...details, x: 1 } } as never),
      /no field "details\.x"/,
    ],
    ["an operation", (api) => api.lifecycle("p", "e", "delete" as never), /"operation": .*"suspend"/],
    ["a URL", (api) => api.webhooks.create({ url: "receiver", eventTypes: [] }), /"url": expected a URL/],
    ["an order's variant", (api) => api.esims.order({ esimVariant: 5 as never }), /"esimVariant"/],
    ["no body at all", (api) => api.webhooks.create(undefined as never), /expected object/],
    ["an empty reference", (api) => api.webhooks.rotateSecret(""), /reference/],
    ["a reference that leads elsewhere", (api) => api.webhooks.delete(".."), /reference/],
    ["a missing reference", (api) => api.numbers.allocate(undefined as never, allocation), /reference/],
    ["a path that leads elsewhere", (api) => api.request("GET", "/../../other"), /below the base URL/],
    ["a path that is a host", (api) => api.request("GET", "@evil.test/"), /below the base URL/],
    ["a method", (api) => api.request("PUT" as never, "/esims"), /"method": .*"PATCH"/],
    [
      "a circle",
      (api) => {
        const circle: { self?: unknown } = {};
        circle.self = circle;
        return api.request("POST", "/", circle);
      },
      /as JSON/,
    ],
    ["a function as body", (api) => api.request("POST", "/", () => {}), /as JSON/],
    ["a body of a GET", (api) => api.request("GET", "/", {}), /a GET has no body/],
    ["a body of a DELETE", (api) => api.request("DELETE", "/", { a: 1 }), /a DELETE has no body/],
    [
      "a key for a GET",
      (api) => api.client.get({ idempotencyKey: "k" } as never),
      /no field "idempotencyKey"/,
    ],
    ["a key that is too long", (api) => api.esims.order({}, { idempotencyKey: "k".repeat(256) }), /1 to 255/],
    ["a key that no header can have", (api) => api.esims.order({}, { idempotencyKey: "a\nb" }), /1 to 255/],
    ["an unknown option", (api) => api.client.get({ timeout: 5 } as never), /no field "timeout"/],
    ["a page that is too long", async (api) => api.webhooks.list({ limit: 101 }).page(), /"limit"/],
    ["a page of nothing", async (api) => api.webhooks.deliveries("w", { limit: 0 }).page(), /"limit"/],
  ])("%s", async (_, call, message) => {
    expect(await refusalOf(call)).toMatch(message);
  });

  it("an order may have fields that are not documented, and is sent as it is", async () => {
    const { api, clock, service } = scriptedClient();
    await clock.run(api.esims.order({ esimVariant: "standard", portIn: { msisdn: "1" }, somethingNew: [1] }));
    expect(service.seen[0]?.body).toBe(
      '{"esimVariant":"standard","portIn":{"msisdn":"1"},"somethingNew":[1]}',
    );
  });
});

describe("an idempotency key of the caller", () => {
  it("is warned about when it comes back on another path, and not when an operation is repeated", async () => {
    const warnings: unknown[] = [];
    const logger = loggerWith({ error: (fields) => void warnings.push(fields) });
    const { api, clock } = scriptedClient([], { logger });
    const idempotencyKey = "order-1";
    await clock.run(api.esims.order({}, { idempotencyKey }));
    await clock.run(api.esims.order({}, { idempotencyKey }));
    expect(warnings).toEqual([]);
    await clock.run(api.lifecycle("p", "e", "suspend", { idempotencyKey })).catch(() => {});
    expect(warnings).toEqual([{ code: "idempotency_key_reused" }]);
  });

  it("is another one for each operation when the caller gives none", async () => {
    const { api, clock, service } = scriptedClient();
    for (let order = 0; order < 5; order++) await clock.run(api.esims.order({}));
    expect(new Set(service.seen.map(({ headers }) => headers.get("x-idempotency-key"))).size).toBe(5);
  });
});
