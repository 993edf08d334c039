import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { sampleData } from "@esim-webhooks/core/testing";
import {
  reconcile,
  requestSupportReplay,
  type SupportReplayRequest,
  watchSupportReplay,
} from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { keepRequest } from "../../src/reconcile/support-replay-watch.ts";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";

const hourMs = 3_600_000;
const startMs = Date.parse("2026-11-20T00:00:00Z");
const at = (hours: number) => startMs + hours * hourMs;
const hour = (hours: number) => new Date(at(hours)).toISOString();

/** An endpoint whose listing a test makes, with the passes and requests of certain hours. */
function endpointOf(listing: WebhookDelivery[]) {
  const served = servedListing((skipped) => listing.slice(skipped));
  const state = memoryState();
  const inbox = knownInbox();
  const options = (hours: number) => ({ state, clock: { now: () => at(hours) } });
  return {
    ...served,
    state,
    inbox,
    pass: (hours: number, dryRun = false) =>
      reconcile(served.api, served.endpoint, inbox, {
        ...options(hours),
        since: new Date(startMs),
        dryRun,
      }),
    request: (hours: number): Promise<SupportReplayRequest> =>
      requestSupportReplay(served.api, served.endpoint, options(hours)),
  };
}

it("a request has what was given up and what was lost, the periods of the passes, and nothing of the events' data", async () => {
  const lost = made({ id: "lost", occurredMs: at(1) });
  const listing = [lost];
  const { itself, pass, request } = endpointOf(listing);
  await pass(2); // recovers it
  itself.active = false;
  await pass(5);
  itself.active = true;
  await pass(6);
  listing.unshift(
    made({ id: "given-up", occurredMs: at(7), status: "exhausted" }),
    made({ id: "coming", occurredMs: at(7), status: "failed", nextRetryMs: at(9) }),
    made({ id: "delivered", occurredMs: at(7) }),
  );
  const collected = await request(8);
  expect(collected).toEqual({
    endpoint: expect.any(String),
    source: "default",
    requestedAt: hour(8),
    exhausted: [{ id: "given-up", type: "esim.enabled", occurredAt: hour(7), sentAt: hour(7) }],
    acknowledgedAndLost: [{ id: "lost", type: "esim.enabled", occurredAt: hour(1), sentAt: hour(1) }],
    periods: [{ from: hour(2), to: hour(6), eventTypes: null }],
    more: 0,
  });
  const text = JSON.stringify(collected);
  for (const personal of Object.values(sampleData("esim.enabled"))) expect(text).not.toContain(personal);
});

it("is kept although a pass of another process writes the last request at the same time", async () => {
  const endpoint = endpointOf([made({ id: "given-up", occurredMs: at(1), status: "exhausted" })]);
  const { state, api, endpoint: reference } = endpoint;
  await endpoint.request(2);
  let races = 2;
  const racing = {
    ...state,
    async write(...written: Parameters<typeof state.write>) {
      if (races-- > 0) {
        const { name, value, version } = await state.first();
        await state.write(name, value, version);
      }
      return state.write(...written);
    },
  };
  const { requestedAt } = await requestSupportReplay(api, reference, {
    state: racing,
    clock: { now: () => at(3) },
  });
  expect(await state.only()).toMatchObject({ requestedAt });
});

it("what reconcile has settled needs no replay, and a lost event is named for 7 days, though its alarm is daily", async () => {
  const listing = [
    made({ id: "given-up", occurredMs: at(2), status: "exhausted" }),
    made({ id: "lost", occurredMs: at(1) }),
  ];
  const { pass, request } = endpointOf(listing);
  expect((await request(2)).periods).toBeNull(); // no pass has looked
  expect((await request(2)).exhausted).toHaveLength(1);
  await pass(3);
  for (const days of [1, 6]) {
    await pass(3 + days * 24);
    const { exhausted, acknowledgedAndLost } = await request(3 + days * 24);
    expect([exhausted.length, acknowledgedAndLost.length]).toEqual([0, 1]);
  }
  await pass(3 + 7 * 24);
  expect((await request(3 + 7 * 24)).acknowledgedAndLost).toEqual([]);
});

it("the next passes say which events have arrived: recovered ones, and those that a receiver got from the replay", async () => {
  const listing: WebhookDelivery[] = [];
  const { itself, inbox, pass, request } = endpointOf(listing);
  itself.active = false;
  await pass(1);
  listing.unshift(made({ id: "given-up", occurredMs: at(7), status: "exhausted" }));
  expect((await request(8)).periods).toEqual([{ from: hour(0), to: hour(8), eventTypes: null }]);
  inbox.ids.add("before"); // it had arrived, so it is no replay
  listing.unshift(made({ id: "before", occurredMs: at(3), sentMs: at(7) }));
  const first = await pass(9, true);
  expect(first.supportReplay).toMatchObject({ ids: { requested: 1, arrived: 1 } });
  expect((await pass(9)).supportReplay?.ids).toEqual({ requested: 1, arrived: 1 }); // a dry run had not noted it
  inbox.ids.add("replayed"); // its receiver got it
  listing.unshift(made({ id: "replayed", occurredMs: at(2), sentMs: at(10) }));
  const { supportReplay } = await pass(11);
  expect(supportReplay?.foundIds).toEqual(["replayed"]);
  expect(supportReplay?.periods.map(({ arrived }) => arrived)).toEqual([2]);
  expect((await pass(12)).supportReplay).toMatchObject({ periods: [{ arrived: 2 }], foundIds: [] }); // once each
  expect((await pass(8 + 7 * 24)).supportReplay).toBeNull();
});

it("an import finds the events of a period by their type and time", async () => {
  const { itself, pass, request, state } = endpointOf([]);
  itself.active = false;
  await pass(1);
  await request(2);
  const watch = await watchSupportReplay(state, "default", at(3));
  const event = { type: "esim.enabled", occurredMs: at(1), fate: "stored" } as const;
  watch.settled([
    { ...event, id: "in" },
    { ...event, id: "in" },
    { ...event, id: "duplicate", fate: "duplicate" },
    { ...event, id: "later", occurredMs: at(4) },
    { ...event, id: "timeless", occurredMs: Number.NaN },
  ]);
  expect(watch.arrivals()).toMatchObject({ periods: [{ arrived: 1 }], foundIds: ["in"] });
  await watch.keep();
  expect((await watchSupportReplay(state, "default", at(4))).arrivals()?.periods[0]?.arrived).toBe(1);
  expect((await watchSupportReplay(state, "another", at(4))).arrivals()).toBeNull();
});

it("names each event once, only those with an id, and gives up when its signal aborts", async () => {
  const nameless = { ...made({ occurredMs: at(1), status: "exhausted" }), eventId: null };
  const twice = made({ id: "twice", occurredMs: at(1), status: "exhausted" });
  const { api, endpoint, state, request } = endpointOf([twice, nameless, twice]);
  const { exhausted, more } = await request(2);
  expect([exhausted.map(({ id }) => id), more]).toEqual([["twice"], 0]);
  const stopped = { state, signal: AbortSignal.abort() };
  await expect(requestSupportReplay(api, endpoint, stopped)).rejects.toThrow(/abort/);
});

it.each<[string, (api: ApiClient, state: object) => readonly unknown[]]>([
  ["a client that is none", (_, state) => [undefined, "endpoint-1", { state }]],
  ["a client of something else", (_, state) => [{}, "endpoint-1", { state }]],
  ["an inbox for the client", (_, state) => [knownInbox(), "endpoint-1", { state }]],
  ["an inbox for the endpoint", (api, state) => [api, knownInbox(), { state }]],
  ["an inbox for the options", (api, state) => [api, "endpoint-1", { state, ...knownInbox() }]],
  ["no state store", (api) => [api, "endpoint-1", {}]],
  ["a signal that is none", (api, state) => [api, "endpoint-1", { state, signal: {} }]],
  ["a clock that is none", (api, state) => [api, "endpoint-1", { state, clock: {} }]],
  ["a source that is none", (api, state) => [api, "endpoint-1", { state, source: 1 }]],
])("refuses %s", async (_, given) => {
  const { api, state } = endpointOf([]);
  const wrong = given(api, state) as unknown as Parameters<typeof requestSupportReplay>;
  await expect(requestSupportReplay(...wrong)).rejects.toMatchObject({
    ...{ code: "invalid_option", where: "requestSupportReplay" },
  });
});

it("names 2,000 events, and how many more there are; an event without a timestamp has no time", async () => {
  const exhausted = (id: string) => made({ id, occurredMs: at(1), status: "exhausted" });
  const listed = Array.from({ length: 2002 }, (_, index) => exhausted(`given-up-${index}`));
  listed.unshift({
    ...exhausted("timeless"),
    payload: null,
    eventType: null,
    sentAt: null,
    deliveredAt: null,
  });
  const pages = async function* () {
    yield { data: [...listed, exhausted("timeless")], pagination: { hasMore: false } };
  };
  const api = { webhooks: { deliveries: () => ({ pages }) } } as unknown as ApiClient;
  const { exhausted: named, more } = await requestSupportReplay(api, "endpoint-1", { state: memoryState() });
  expect([named.length, more]).toEqual([2000, 3]);
  expect(named[0]).toEqual({ id: "timeless", type: null, occurredAt: null, sentAt: null });
});

it("asks for no more than the last 7 days of a period, and for no period that is older", async () => {
  const { itself, pass, request } = endpointOf([]);
  const days = (count: number) => count * 24;
  await pass(1);
  itself.active = false;
  await pass(2);
  itself.active = true;
  await pass(3);
  expect((await request(days(7) + 2)).periods).toEqual([{ from: hour(2), to: hour(3), eventTypes: null }]);
  expect((await request(days(7) + 3)).periods).toEqual([]);
  itself.active = false;
  await pass(4);
  expect((await request(days(8))).periods).toEqual([{ from: hour(24), to: hour(days(8)), eventTypes: null }]);
});

it("the events of a request are found by their ids, and those of its periods by their types and times, each once", async () => {
  const state = memoryState();
  const period = { from: hour(0), to: hour(2) };
  await keepRequest(state, "default", {
    requestedAt: hour(3),
    ids: ["one", "two", "three"],
    periods: [
      { ...period, eventTypes: ["esim.faulted"] },
      { ...period, eventTypes: null },
    ],
  });
  const before = await state.first();
  const watch = await watchSupportReplay(state, "default", at(4));
  const sent = (id: string, sentMs: number, status?: string) =>
    made({ ...{ id, occurredMs: at(1), sentMs }, ...(status && { status }) });
  watch.listed([
    sent("before", at(3)),
    sent("refused", at(3) + 1, "exhausted"),
    { ...sent("", at(3) + 1), eventId: null },
    sent("early", at(3) - 1),
  ]);
  watch.settled([
    { id: "four", type: null, occurredMs: at(1), fate: "duplicate" },
    { id: "two", type: null, occurredMs: at(1), fate: "rejected" },
  ]);
  await watch.keep();
  expect(await state.first()).toEqual(before);
  const event = { type: "esim.enabled", occurredMs: at(1), fate: "stored" };
  watch.settled([
    { ...event, id: "both", type: "esim.faulted" },
    { ...event, id: "one" },
    { ...event, id: "untyped", type: null },
    { ...event, id: "two", fate: "duplicate" },
    { ...event, id: "three", fate: "conflict", occurredMs: Number.NaN },
  ]);
  watch.listed([sent("replayed", at(3) + 1)]);
  const arrivals = {
    requestedAt: hour(3),
    ids: { requested: 3, arrived: 3 },
    periods: [
      { ...period, eventTypes: ["esim.faulted"], arrived: 1 },
      { ...period, eventTypes: null, arrived: 4 },
    ],
  };
  expect(watch.arrivals()).toEqual({
    ...arrivals,
    foundIds: ["both", "one", "untyped", "two", "three", "replayed"],
  });
  await watch.keep();
  const next = await watchSupportReplay(state, "default", at(5));
  expect(next.arrivals()).toEqual({ ...arrivals, foundIds: [] });
  next.settled(Array.from({ length: 500 }, (_, index) => ({ ...event, id: `event-${index}` })));
  expect(next.arrivals()?.periods).toMatchObject([{ arrived: 1 }, { arrived: 400 }]);
  expect(next.arrivals()?.foundIds).toEqual(Array.from({ length: 20 }, (_, index) => `event-${index}`));
});

it("what has arrived is reported with its period, from its first moment to its last, and the first 20 ids", async () => {
  const { itself, pass, request, state } = endpointOf([]);
  itself.active = false;
  await pass(1);
  const [period] = (await request(2)).periods ?? [];
  const first = await watchSupportReplay(state, "default", at(3));
  const event = (id: string, hours: number) =>
    ({ id, type: "esim.enabled", occurredMs: at(hours), fate: "stored" }) as const;
  first.settled([event("first", 0), event("last", 2), event("before", -1)]);
  await first.keep();
  const second = await watchSupportReplay(state, "default", at(3));
  second.settled(Array.from({ length: 25 }, (_, index) => event(`event-${index}`, 1)));
  expect(second.arrivals()).toMatchObject({ periods: [{ ...period, arrived: 27 }] });
  expect(second.arrivals()?.foundIds).toHaveLength(20);
});
