import { expect, it } from "vitest";
import { addClient } from "../../src/account/clients.ts";
import type { SwitchSettings } from "../../src/base/switches.ts";
import { listDeliveries, listingSql } from "../../src/webhook/deliveries.ts";
import { emitEvent } from "../../src/webhook/emit.ts";
import { createEndpoint, setActive } from "../../src/webhook/endpoints.ts";
import { addEventType, eventTypes, retireEventType } from "../../src/webhook/event-types.ts";
import { dayMs, testService } from "../service.ts";

function given(switches: SwitchSettings = {}) {
  const service = testService(switches);
  const { clientId } = addClient(service);
  const subscribe = (...types: string[]) =>
    createEndpoint(service, clientId, { url: "http://127.0.0.1:3000/", eventTypes: types })
      .webhookEndpointReference;
  const emit = (type = "esim.assigned", data = {}) => emitEvent(service, clientId, { type, data });
  const list = (endpoint: string, limit = 20, cursor?: string) =>
    listDeliveries(service, clientId, endpoint, { limit, cursor });
  return { service, clientId, subscribe, emit, list };
}

it("makes a delivery to each active endpoint that has subscribed, and says that one is due", () => {
  const { service, clientId, subscribe, emit, list } = given();
  const one = subscribe("esim.assigned", "esim.deleted");
  const two = subscribe("esim.deleted");
  const three = subscribe("esim.assigned");
  setActive(service, clientId, three, false);
  let calls = 0;
  service.onDue = () => calls++;
  const ids = emit("esim.assigned", { iccid: "8932040000000000005" });
  expect(ids).toHaveLength(1);
  expect(calls).toBe(1);
  expect(list(two).data).toEqual([]);
  expect(list(three).data).toEqual([]);
  expect(list(one)).toEqual({
    data: [
      {
        eventType: "esim.assigned",
        eventId: ids[0],
        payload: {
          type: "esim.assigned",
          timestamp: new Date(service.clock.now()).toISOString(),
          data: { iccid: "8932040000000000005" },
        },
        responseBody: null,
        status: "pending",
        attemptNumber: 0,
        httpStatus: null,
        nextRetryAt: null,
        sentAt: null,
        deliveredAt: null,
      },
    ],
    pagination: { limit: 20, hasMore: false, nextCursor: null },
  });
});

it.each([
  ["delivery", 2],
  ["event", 1],
] as const)("gives an id to each %s by the switch idPer", (idPer, distinct) => {
  const { subscribe, emit } = given({ idPer });
  subscribe("esim.assigned");
  subscribe("esim.assigned");
  expect(new Set(emit()).size).toBe(distinct);
});

it("undoes an event with the transaction that it is a part of", () => {
  const { service, subscribe, emit, list } = given();
  const endpoint = subscribe("esim.assigned");
  const operation = () =>
    service.db.transaction(() => {
      emit();
      throw new Error("refused");
    });
  expect(operation).toThrow("refused");
  expect(list(endpoint).data).toEqual([]);
  expect(service.db.all("select * from events")).toEqual([]);
});

it("lists the newest first, page by page, each delivery once", () => {
  const { service, subscribe, emit, list } = given();
  const endpoint = subscribe("esim.assigned");
  const ids = Array.from({ length: 7 }, (_, index) => {
    if (index % 2 === 0) service.pass(1); // so that some are equally old
    return emit()[0];
  }).reverse();
  const first = list(endpoint, 3);
  expect(first.pagination).toEqual({ limit: 3, hasMore: true, nextCursor: expect.any(String) });
  const second = list(endpoint, 3, first.pagination.nextCursor ?? "");
  const third = list(endpoint, 3, second.pagination.nextCursor ?? "");
  expect(third.pagination).toEqual({ limit: 3, hasMore: false, nextCursor: null });
  expect([first, second, third].flatMap((page) => page.data.map(({ eventId }) => eventId))).toEqual(ids);
});

it.each([
  ["snapshot", ["1", "0"]],
  ["live", ["2", "1", "0"]],
] as const)("pages after one that has moved: %s", (cursor, expected) => {
  const { subscribe, emit, list } = given({ cursor });
  const endpoint = subscribe("esim.assigned");
  for (const name of ["0", "1", "2", "3"]) emit("esim.assigned", { name });
  const first = list(endpoint, 2);
  emit("esim.assigned", { name: "4" });
  const second = list(endpoint, 3, first.pagination.nextCursor ?? "");
  expect(second.data.map(({ payload }) => (payload["data"] as { name: string }).name)).toEqual(expected);
});

it("lists deliveries of the last 7 days", () => {
  const { service, subscribe, emit, list } = given();
  const endpoint = subscribe("esim.assigned");
  emit();
  service.pass(7 * dayMs);
  expect(list(endpoint).data).toHaveLength(1);
  service.pass(1);
  expect(list(endpoint).data).toEqual([]);
});

it("lists a delivery only when it is as old as the switch listingLagMs says", () => {
  const { service, subscribe, emit, list } = given({ listingLagMs: 5000 });
  const endpoint = subscribe("esim.assigned");
  emit();
  service.pass(4999);
  expect(list(endpoint).data).toEqual([]);
  service.pass(1);
  expect(list(endpoint).data).toHaveLength(1);
});

it.each(["junk", "", "W10", Buffer.from('["endpoints",1,1,0]').toString("base64url")])(
  "refuses a cursor that is not of this list: %o",
  (cursor) => {
    const { subscribe, list } = given();
    const endpoint = subscribe("esim.assigned");
    expect(() => list(endpoint, 20, cursor)).toThrow(expect.objectContaining({ code: "invalid" }));
  },
);

it("has documented event types and those of packages and port-ins; types are retired, added and brought back", () => {
  const { service } = given();
  expect(eventTypes(service)).toEqual(
    expect.arrayContaining(["esim.assigned", "package.ended", "port_in.completed"]),
  );
  retireEventType(service, "esim.faulted");
  addEventType(service, "esim.renamed");
  expect(eventTypes(service)).toContain("esim.renamed");
  expect(eventTypes(service)).not.toContain("esim.faulted");
  expect(() => retireEventType(service, "esim.faulted")).toThrow(
    expect.objectContaining({ code: "not_found" }),
  );
  addEventType(service, "esim.faulted");
  expect(eventTypes(service)).toContain("esim.faulted");
});

it("picks the entries of a page by the index alone, and sorts no more than a page", () => {
  const { service } = given();
  const plan = service.db
    .all<{ detail: string }>(`explain query plan ${listingSql}`, 1, 0, 1, 1, 1, 20, 0)
    .map(({ detail }) => detail);
  expect(plan).toEqual([
    "CO-ROUTINE page",
    "SEARCH deliveries USING COVERING INDEX deliveries_by_endpoint (endpointSequence=? AND createdAt>? AND createdAt<?)",
    "SCAN page",
    "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)",
    "USE TEMP B-TREE FOR ORDER BY",
  ]);
});
