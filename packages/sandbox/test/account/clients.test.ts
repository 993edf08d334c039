import { webhookHandler } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { addClient, findClient } from "../../src/account/clients.ts";
import { listVariants, setStock, stockOf, takeFromStock } from "../../src/account/variants.ts";
import { testService } from "../service.ts";

it("makes client secrets that cannot be taken for signing secrets", () => {
  const service = testService();
  for (let count = 0; count < 50; count++) {
    const { clientSecret } = addClient(service);
    expect(clientSecret).toMatch(/^sandbox_[\w-]{32}$/);
    expect(() => webhookHandler({}, { secret: clientSecret })).toThrow(
      expect.objectContaining({ code: "invalid_secret" }),
    );
  }
});

it("adds a client with a reference of 6 digits and two variants, the first of which is the default", () => {
  const service = testService();
  const { clientId } = addClient(service, { name: "Roam", maxProfiles: 3 });
  expect(clientId).toMatch(/^\d{6}$/);
  expect(findClient(service, clientId)).toEqual({
    clientReference: clientId,
    name: "Roam",
    defaultEsimVariant: "standard",
    limits: { maxProfiles: 3 },
  });
  expect(listVariants(service, clientId)).toEqual([
    expect.objectContaining({ esimVariant: "premium", default: false, inventory: { available: 100 } }),
    expect.objectContaining({ esimVariant: "standard", default: true }),
  ]);
});

it("adds a client without a default variant", () => {
  const service = testService();
  const { clientId } = addClient(service, { defaultEsimVariant: null });
  expect(findClient(service, clientId).defaultEsimVariant).toBeNull();
  expect(listVariants(service, clientId).some((variant) => variant.default)).toBe(false);
});

it("does not find a client that was not added", () => {
  expect(() => findClient(testService(), "100000")).toThrow(expect.objectContaining({ code: "not_found" }));
});

it("takes eSIMs from the stock until none is left", () => {
  const service = testService();
  const { clientId } = addClient(service);
  setStock(service, clientId, "premium", 1);
  takeFromStock(service, clientId, "premium");
  expect(stockOf(service, clientId, "premium")).toBe(0);
  expect(() => takeFromStock(service, clientId, "premium")).toThrow(
    expect.objectContaining({ code: "no_stock" }),
  );
});

it("takes any number of eSIMs of a variant whose stock is not counted", () => {
  const service = testService();
  const { clientId } = addClient(service);
  for (let i = 0; i < 200; i++) takeFromStock(service, clientId, "standard");
  expect(stockOf(service, clientId, "standard")).toBeNull();
});

it("refuses a variant that the client does not have, and names those it has", () => {
  const service = testService();
  const { clientId } = addClient(service);
  expect(() => takeFromStock(service, clientId, "gold")).toThrow(
    expect.objectContaining({ code: "invalid", message: expect.stringContaining("premium, standard") }),
  );
});
