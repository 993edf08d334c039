import type { ApiClient } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { scriptedClient } from "../scripted-client.ts";

function answered<Result>(data: unknown, call: (api: ApiClient) => Promise<Result>): Promise<Result> {
  const { api, clock } = scriptedClient([{ answer: 200, body: JSON.stringify({ data }) }]);
  return clock.run(call(api));
}

const customerInfo = {
  firstName: "Ada",
  lastName: "Lovelace",
  address: { street: "Main Street", city: "Ghent", postalCode: "9000", countryCode: "BE" },
};
const allocate = (api: ApiClient) =>
  api.numbers.allocate("4812009377150264", { esimReference: "1", countryCode: "BE", customerInfo });
const port = (api: ApiClient) =>
  api.portIns.create("1", "2", { msisdn: "32470123456", details: { donorContractType: "prepaid" } });
const variants = (api: ApiClient) => api.catalog.esimVariants();
const client = (api: ApiClient) => api.client.get();

const portIn = {
  portInRequestReference: "AB12CD34",
  profileReference: "1",
  esimReference: "2",
  msisdn: "32470123456",
  status: "requested",
  createdAt: "2026-11-20T09:00:00Z",
  updatedAt: "2026-11-20T09:00:00Z",
};

describe("an answer", () => {
  it.each([
    ["a variant without any field", [{}], variants],
    [
      "a variant with its stock",
      [{ esimVariant: "v", inventory: { available: 0 }, colour: "red" }],
      variants,
    ],
    ["an assignment without any field", {}, allocate],
    ["an assignment with an id that is a text", { assignmentId: "A-17", msisdn: "32470123456" }, allocate],
    [
      "a client without a default variant",
      { clientReference: "123456", name: "n", defaultEsimVariant: null, limits: { maxProfiles: 5 } },
      client,
    ],
    ["a port-in with nothing but what is required", portIn, port],
    [
      "a port-in that was rejected",
      { ...portIn, status: "rejected", reason: { code: "details_mismatch", message: null }, abandoned: true },
      port,
    ],
  ] as const)("is read as it came: %s", async (_, data, call) => {
    expect(await answered(data, call as (api: ApiClient) => Promise<unknown>)).toEqual(data);
  });

  it("of an allocation that was done is no error because of a field of another type: that is null", async () => {
    const odd = { assignmentId: {}, msisdn: 32470123456, isPrimary: "yes", customerInfo: [] };
    const missing = { assignmentId: null, msisdn: null, isPrimary: null, customerInfo: null };
    expect(await answered(odd, allocate)).toEqual(missing);
  });

  it("has no stock if the service tells it in another form", async () => {
    expect(await answered([{ esimVariant: "v", inventory: { available: "many" } }], variants)).toEqual([
      { esimVariant: "v", inventory: null },
    ]);
  });

  it("without what identifies it is an error", async () => {
    const { msisdn: _, ...without } = portIn;
    await expect(answered(without, port)).rejects.toMatchObject({ code: "unexpected_answer" });
  });
});

describe("an answer with a signing secret", () => {
  const signingSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  const rotate = (api: ApiClient) => api.webhooks.rotateSecret("abc");
  const create = (api: ApiClient) => api.webhooks.create({ url: "https://shop.example", eventTypes: [] });
  const odd = { url: 5, eventTypes: "all", active: "yes", createdAt: null };

  it("has the secret, even if other fields are missing or odd: those are null", async () => {
    const rotated = await answered({ signingSecret, ...odd }, rotate);
    const created = await answered({ signingSecret, ...odd, webhookEndpointReference: "abc" }, create);
    for (const made of [rotated, created]) {
      expect(made.signingSecret).toBe(signingSecret);
      expect({ ...made }).toEqual({
        webhookEndpointReference: "abc",
        url: null,
        eventTypes: null,
        description: null,
        active: null,
        createdAt: null,
        updatedAt: null,
      });
    }
  });

  it("of an endpoint that nobody can name is an error, as is a secret that is no text", async () => {
    for (const answer of [answered({ signingSecret }, create), answered({ signingSecret: 5 }, rotate)]) {
      await expect(answer).rejects.toMatchObject({ code: "unexpected_answer" });
    }
  });
});
