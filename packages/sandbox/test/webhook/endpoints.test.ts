import { describe, expect, it } from "vitest";
import { addClient } from "../../src/account/clients.ts";
import { Refused } from "../../src/base/refused.ts";
import type { SwitchSettings } from "../../src/base/switches.ts";
import { listDeliveries } from "../../src/webhook/deliveries.ts";
import { emitEvent } from "../../src/webhook/emit.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  rotateSecret,
  setActive,
} from "../../src/webhook/endpoints.ts";
import { addEventType, retireEventType } from "../../src/webhook/event-types.ts";
import { replay } from "../../src/webhook/replay.ts";
import { testService } from "../service.ts";

function given(switches: SwitchSettings = {}) {
  const service = testService(switches);
  const { clientId } = addClient(service);
  const create = (fields = {}) =>
    createEndpoint(service, clientId, {
      url: "http://127.0.0.1:3000/webhooks",
      eventTypes: ["esim.assigned"],
      ...fields,
    });
  return { service, clientId, create };
}

const page = { limit: 20 };
const refused = (code: string) => expect.objectContaining({ name: "Refused", code });

it("creates an active endpoint with a secret that the list does not show", () => {
  const { service, clientId, create } = given();
  const { signingSecret, ...endpoint } = create({ description: "Production" });
  expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(endpoint).toEqual({
    webhookEndpointReference: expect.any(String),
    url: "http://127.0.0.1:3000/webhooks",
    eventTypes: ["esim.assigned"],
    description: "Production",
    active: true,
    createdAt: new Date(service.clock.now()).toISOString(),
    updatedAt: new Date(service.clock.now()).toISOString(),
  });
  expect(listEndpoints(service, clientId, page).data).toEqual([endpoint]);
});

it("makes a secret of another format by the switch secretFormat", () => {
  expect(given({ secretFormat: "custom" }).create().signingSecret).toMatch(/^[0-9a-f]{64}$/);
});

it.each([
  ["a wildcard", { eventTypes: ["*"] }],
  ["an event type that the catalog does not have", { eventTypes: ["esim.assigned", "esim.lost"] }],
])("refuses %s", (_, fields) => {
  expect(() => given().create(fields)).toThrow(refused("invalid"));
});

it.each([
  ["5", 5],
  ["3", 3],
] as const)("refuses an endpoint above the cap of %s, inactive ones included", (endpointCap, cap) => {
  const { service, clientId, create } = given({ endpointCap });
  const endpoints = Array.from({ length: cap }, () => create());
  setActive(service, clientId, endpoints[0]?.webhookEndpointReference ?? "", false);
  expect(() => create()).toThrow(refused("endpoint_cap"));
  deleteEndpoint(service, clientId, endpoints[0]?.webhookEndpointReference ?? "");
  expect(create().active).toBe(true);
});

it("replaces the secret, and keeps the one before for the fault that signs with it", () => {
  const { service, clientId, create } = given();
  const created = create();
  service.pass(1000);
  const rotated = rotateSecret(service, clientId, created.webhookEndpointReference);
  expect(rotated).toEqual({
    ...created,
    signingSecret: rotated.signingSecret,
    updatedAt: new Date(service.clock.now()).toISOString(),
  });
  expect(rotated.signingSecret).not.toBe(created.signingSecret);
  expect(service.db.get("select previousSecret from endpoints")).toEqual({
    previousSecret: created.signingSecret,
  });
});

it("removes an endpoint with its deliveries", () => {
  const { service, clientId, create } = given();
  const { signingSecret: _, ...endpoint } = create();
  emitEvent(service, clientId, { type: "esim.assigned", data: {} });
  expect(deleteEndpoint(service, clientId, endpoint.webhookEndpointReference)).toEqual(endpoint);
  expect(service.db.all("select * from deliveries")).toEqual([]);
  expect(() => deleteEndpoint(service, clientId, endpoint.webhookEndpointReference)).toThrow(
    refused("not_found"),
  );
});

it("keeps a subscription to a type that was retired since, and delivers nothing of it until the type is back", () => {
  const { service, clientId, create } = given();
  create();
  const emit = () => emitEvent(service, clientId, { type: "esim.assigned", data: {} });
  emit();
  retireEventType(service, "esim.assigned");
  expect(listEndpoints(service, clientId, page).data[0]?.eventTypes).toEqual(["esim.assigned"]);
  expect(emit()).toEqual([]);
  expect(replay(service, clientId)).toEqual([]);
  addEventType(service, "esim.assigned");
  expect(emit()).toHaveLength(1);
  expect(replay(service, clientId)).toHaveLength(3); // the event of that time is kept, too
  retireEventType(service, "esim.assigned");
  expect(() => create()).toThrow(refused("invalid"));
});

describe("of another client", () => {
  const { service, clientId, create } = given();
  const { webhookEndpointReference } = create();
  const { clientId: other } = addClient(service);
  const operations = {
    rotateSecret: () => rotateSecret(service, other, webhookEndpointReference),
    deleteEndpoint: () => deleteEndpoint(service, other, webhookEndpointReference),
    setActive: () => setActive(service, other, webhookEndpointReference, false),
    listDeliveries: () => listDeliveries(service, other, webhookEndpointReference, page),
  };

  it.each(Object.entries(operations))("does not find it: %s", (_, operation) => {
    expect(operation).toThrow(Refused);
    expect(operation).toThrow(refused("not_found"));
  });

  it("does not list it", () => {
    expect(listEndpoints(service, other, page).data).toEqual([]);
    expect(listEndpoints(service, clientId, page).data).toHaveLength(1);
  });
});
