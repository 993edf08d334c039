import type { ApiClient } from "@esim-webhooks/client";
import { memoryStore } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { createReconciler, reconcile } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { startWorld } from "./world.ts";

const hour = 3_600_000;
const nothing = {
  listed: 0,
  coming: 0,
  outOfRange: 0,
  stored: 0,
  duplicate: 0,
  conflict: 0,
  invalid: 0,
  filtered: 0,
  rejected: 0,
  unsettled: 0,
};

describe("reconcile", () => {
  it("recovers what is exhausted, and what failed with no next try", async () => {
    const world = await startWorld();
    const arrived = await world.emit(2, "stores");
    const refused = await world.emit(2, "refuses");
    const exhausted = await world.emit(3, "down");
    await world.pass("16h");
    const report = await world.reconcile();
    expect(report.ledger).toEqual({ ...nothing, listed: 7, stored: 5, duplicate: 2 });
    expect(report).toMatchObject({ recovered: { missed: 5, acknowledgedAndLost: 0 }, lost: null });
    expect(await world.stored()).toEqual([...arrived, ...refused, ...exhausted].sort());
    const row = await world.inbox.get({ source: "default", id: exhausted[0] as string });
    expect(row?.replay).toMatchObject({
      run: report.run,
      delivery: { status: "exhausted", attemptNumber: 10 },
    });
    expect(await world.inbox.runs()).toEqual([
      {
        ...{
          kind: "reconcile",
          run: report.run,
          source: "default",
          outcome: "complete",
          ledger: report.ledger,
        },
        ...{ startedAt: expect.any(Date), endedAt: expect.any(Date) },
      },
    ]);
    await world.reconcile({ dryRun: true });
    expect(await world.inbox.runs()).toHaveLength(1);
  });

  it("notes in its report and in the inbox when the service last got a 401, which is not sent again", async () => {
    const world = await startWorld();
    await world.emit(1, "stores");
    expect((await world.reconcile()).refusedAt).toBeNull();
    await world.pass("1h");
    world.sandbox.faults.add({ kind: "wrong_signature" });
    await world.emit(1, "stores");
    const { refusedAt, recovered } = await world.reconcile();
    expect(recovered.missed).toBe(1);
    let sentAt = "";
    for await (const delivery of world.api.webhooks.deliveries(world.endpoint))
      if (delivery.httpStatus === 401) sentAt = delivery.sentAt ?? "";
    expect(refusedAt).toBe(new Date(sentAt).toISOString());
    const [last, first] = await world.inbox.runs();
    expect([first?.refusedAt, last?.refusedAt?.toISOString()]).toEqual([undefined, refusedAt]);
  });

  it("recovers what was acknowledged and lost, and raises the alarm", async () => {
    const world = await startWorld();
    await world.emit(1, "stores");
    const lost = await world.emit(2, "forgets");
    const report = await world.reconcile();
    expect(report.ledger).toEqual({ ...nothing, listed: 3, stored: 2, duplicate: 1 });
    expect(report.recovered).toEqual({ missed: 0, acknowledgedAndLost: 2 });
    expect(report.ids.acknowledgedAndLost.toSorted()).toEqual(lost.toSorted());
    expect(world.lines).toMatchObject([
      { level: "error", message: expect.stringMatching(/acknowledged and lost/), fields: { events: 2 } },
    ]);
    expect(JSON.stringify(world.lines)).not.toContain("payload");
  });

  it("leaves alone what is still coming, and finds it once it is exhausted", async () => {
    const world = await startWorld();
    const coming = await world.emit(2, "down");
    const first = await world.reconcile();
    expect(first.ledger).toEqual({ ...nothing, listed: 2, coming: 2 });
    expect(await world.stored()).toEqual([]);
    await world.pass("8h");
    await world.emit(3, "stores");
    expect((await world.reconcile()).ledger).toMatchObject({ coming: 2, duplicate: 3 });
    await world.emit(0, "down");
    await world.pass("8h");
    const last = await world.reconcile();
    expect(last.ledger).toMatchObject({ stored: 2, coming: 0 });
    expect(await world.stored()).toEqual(expect.arrayContaining(coming));
  });

  it("recovers what is coming with includeComing, which is a duplicate when it comes", async () => {
    const world = await startWorld();
    const coming = await world.emit(2, "down");
    expect((await world.reconcile({ includeComing: true })).ledger).toEqual({
      ...nothing,
      listed: 2,
      stored: 2,
    });
    await world.emit(0, "stores");
    await world.pass("1h");
    expect(await world.stored()).toEqual(coming.toSorted());
    const { ledger } = await world.reconcile();
    expect(ledger).toEqual({ ...nothing, listed: 2, duplicate: 2 });
  });

  it("recovers what the service keeps for an endpoint that is inactive, after a day", async () => {
    const world = await startWorld();
    await world.emit(1, "down");
    world.sandbox.setEndpointActive(world.endpoint, false);
    await world.pass("30h");
    expect((await world.reconcile()).ledger).toEqual({ ...nothing, listed: 1, coming: 1 });
    const clock = { now: () => Date.now() + 30 * hour };
    expect((await world.reconcile({ clock })).ledger).toEqual({ ...nothing, listed: 1, stored: 1 });
  });

  it("recovers what is pending without a valid timestamp: nothing shows for how long it has been coming", async () => {
    const pending = { ...made({ id: "odd", occurredMs: Date.now(), status: "pending" }), sentAt: null };
    const { api, endpoint } = servedListing(() => [{ ...pending, payload: { type: "esim.enabled" } }]);
    const inbox = knownInbox();
    const options = { state: memoryState(), since: new Date(0) };
    expect((await reconcile(api, endpoint, inbox, options)).ledger).toMatchObject({ coming: 0, stored: 1 });
    expect((await reconcile(api, endpoint, inbox, options)).ledger).toMatchObject({ duplicate: 1 });
  });

  it("takes a delivery for one, with any other fields that the service adds to it", async () => {
    const added = {
      headers: { "webhook-id": "other" },
      body: "{}",
      rawBody: "e30=",
      receivedAt: "2026-11-20T00:00:00Z",
    };
    const { api, endpoint } = servedListing(() => [
      { ...made({ id: "one", occurredMs: Date.now(), status: "exhausted" }), ...added },
    ]);
    const inbox = knownInbox();
    await reconcile(api, endpoint, inbox, { state: memoryState(), since: new Date(0) });
    expect([...inbox.ids]).toEqual(["one"]);
  });

  it("counts a record as invalid that is nested too deeply to be written again, and recovers the others", async () => {
    const [one, deep, two] = ["one", "deep", "two"].map((id) => made({ id, occurredMs: Date.now() }));
    const data = JSON.parse(`${'{"a":'.repeat(8000)}1${"}".repeat(8000)}`);
    const listed = [one, { ...deep, payload: { ...deep?.payload, data } }, two];
    const pages = async function* () {
      yield { data: listed, pagination: { limit: 100, hasMore: false, nextCursor: null } };
    };
    const api = { webhooks: { deliveries: () => ({ pages }) } } as unknown as ApiClient;
    const inbox = knownInbox();
    const report = await reconcile(api, "endpoint-1", inbox, { state: memoryState(), since: new Date(0) });
    expect(report.ledger).toEqual({ ...nothing, listed: 3, stored: 2, invalid: 1 });
    expect(report.ids.invalid).toEqual(["deep"]);
    expect([...inbox.ids]).toEqual(["one", "two"]);
  });

  it("refuses another source for an endpoint that it knows, whose events would all run again", async () => {
    const { api, endpoint } = servedListing(() => [made({ occurredMs: Date.now() })]);
    const inbox = knownInbox();
    const since = new Date(0);
    const options = { state: memoryState(), source: "shop" };
    await reconcile(api, endpoint, inbox, { ...options, since });
    const other = { ...options, source: "shpo" };
    const refusal = {
      code: "source_unknown",
      message: expect.stringMatching(/was reconciled with the source "shop": under "shpo"/),
    };
    await expect(reconcile(api, endpoint, inbox, { ...other, since })).rejects.toMatchObject(refusal);
    await expect(createReconciler(api, endpoint, inbox, { ...other, since }).run()).rejects.toMatchObject(
      refusal,
    );
    const moved = { ...other, newSource: true };
    await expect(reconcile(api, endpoint, inbox, moved)).rejects.toMatchObject({ code: "no_watermark" });
    expect(await reconcile(api, endpoint, inbox, { ...moved, since })).toMatchObject({ source: "shpo" });
    expect(await reconcile(api, endpoint, inbox, other)).toMatchObject({ ledger: { listed: 1 } });
  });

  it("finds nothing when it runs again", async () => {
    const world = await startWorld();
    await world.emit(3, "forgets");
    await world.reconcile();
    const { ledger } = await world.reconcile();
    expect(ledger).toEqual({ ...nothing, listed: 3, duplicate: 3 });
  });

  it("leaves out what is older than since, also in later passes", async () => {
    const world = await startWorld();
    await world.emit(2, "forgets");
    await world.pass("2h");
    const since = new Date(Date.now() + hour);
    await world.emit(1, "forgets");
    expect((await world.reconcile({ since })).ledger).toEqual({
      ...nothing,
      listed: 3,
      stored: 1,
      outOfRange: 2,
    });
    expect((await world.reconcile()).ledger).toMatchObject({ duplicate: 1, outOfRange: 2 });
  });

  it("goes back as far as since, wherever earlier passes have been: after the loss of a database", async () => {
    const nowMs = Date.now();
    const old = Array.from({ length: 250 }, (_, index) => made({ occurredMs: nowMs - 48 * hour - index }));
    const listing = [made({ occurredMs: nowMs }), ...old];
    const { api, endpoint } = servedListing(() => listing);
    const state = memoryState();
    await reconcile(api, endpoint, knownInbox(), { state, since: new Date(0) });
    const target = knownInbox();
    const afterTheMark = await reconcile(api, endpoint, target, { state });
    expect(afterTheMark).toMatchObject({ pages: 2, ledger: { listed: 200, stored: 200 } });
    const { ledger } = await reconcile(api, endpoint, target, { state, since: new Date(0) });
    expect(ledger).toEqual({ ...nothing, listed: 251, stored: 51, duplicate: 200 });
  });

  it("refuses a first pass without since, and says why", async () => {
    const { api, endpoint } = servedListing(() => []);
    const state = memoryState();
    const refusal = {
      code: "no_watermark",
      message: expect.stringMatching(/Pass \{ since \}, the time at which your receiver began/),
    };
    await expect(reconcile(api, endpoint, knownInbox(), { state })).rejects.toMatchObject(refusal);
    const dry = { state, dryRun: true };
    await expect(reconcile(api, endpoint, knownInbox(), dry)).rejects.toMatchObject(refusal);
  });

  it("refuses a target or a state store that forgets, and names the options that make one forget", async () => {
    const { api, endpoint } = servedListing(() => []);
    const state = memoryState();
    const options = { state, since: new Date() };
    const refusal = {
      code: "durable_store_required",
      message: expect.stringMatching(/SQLite with durability "full", Redis without allowEviction/),
    };
    await expect(reconcile(api, endpoint, memoryInbox(), options)).rejects.toMatchObject(refusal);
    await expect(reconcile(api, endpoint, { "*": () => {} }, options)).rejects.toMatchObject(refusal);
    const store = memoryStore();
    await expect(reconcile(api, endpoint, { "*": () => {} }, { ...options, store })).rejects.toMatchObject(
      refusal,
    );
    const forgetful = { ...state, capabilities: { durable: false, multiProcess: true } };
    await expect(
      reconcile(api, endpoint, knownInbox(), { ...options, state: forgetful }),
    ).rejects.toMatchObject(refusal);
  });

  it("refuses a target that forgets done ids before the listing does", async () => {
    const week = 7 * 24 * hour;
    const keeping = <T extends { capabilities: object }>(keeper: T, retentionMs: number): T => ({
      ...keeper,
      capabilities: { ...keeper.capabilities, durable: true, retentionMs },
    });
    const refusal = {
      code: "invalid_option",
      message: expect.stringMatching(/forgets done ids after 604800 s/),
    };
    const { api, endpoint } = servedListing(() => []);
    const options = { state: memoryState(), since: new Date() };
    const handlers = { "*": () => {} };
    const inbox = keeping(knownInbox(), week);
    const reconcileWith = (store: ReturnType<typeof memoryStore>) =>
      reconcile(api, endpoint, handlers, { ...options, store });
    await expect(reconcile(api, endpoint, inbox, options)).rejects.toMatchObject(refusal);
    await expect(reconcileWith(keeping(memoryStore(), week))).rejects.toMatchObject(refusal);
    await expect(createReconciler(api, endpoint, inbox, options).run()).rejects.toMatchObject(refusal);
    expect(await reconcileWith(keeping(memoryStore(), week + 24 * hour))).toMatchObject({
      interrupted: false,
    });
  });

  it("refuses a since in the future, which would leave out every event until then", async () => {
    const { api, endpoint } = servedListing(() => []);
    const inbox = knownInbox();
    const options = { state: memoryState(), since: new Date(Date.now() + 25 * hour) };
    const refusal = { code: "invalid_option", message: expect.stringMatching(/"since" is .* in the future/) };
    await expect(reconcile(api, endpoint, inbox, options)).rejects.toMatchObject(refusal);
    expect(() => createReconciler(api, endpoint, inbox, options)).toThrow(/in the future/);
    const clock = { now: () => options.since.getTime() - 24 * hour };
    expect(await reconcile(api, endpoint, inbox, { ...options, clock })).toMatchObject({
      interrupted: false,
    });
  });

  it.each(["state", "overlapMs", "leaseMs", "since", "deadlineMs"])(
    "refuses an option that cannot be right, and names the function and the option: %s",
    async (option) => {
      const { api, endpoint } = servedListing(() => []);
      const options = { state: memoryState(), since: new Date(), [option]: -1 } as never;
      const refusal = { code: "invalid_option", where: "reconcile", option };
      await expect(reconcile(api, endpoint, knownInbox(), options)).rejects.toMatchObject(refusal);
      expect(() => createReconciler(api, endpoint, knownInbox(), options)).toThrow(`"${option}"`);
    },
  );

  it("refuses a client that is none, and says how to make one", async () => {
    const options = { state: memoryState(), since: new Date() };
    await expect(reconcile(undefined as never, "endpoint-1", knownInbox(), options)).rejects.toMatchObject({
      ...{ code: "invalid_option", where: "reconcile" },
      message: expect.stringContaining("the first argument is not a client. Pass what createClient returns."),
    });
  });

  it("keeps a watermark for each endpoint in the same state store", async () => {
    const state = memoryState();
    const served = servedListing(() => [made({ occurredMs: Date.now(), status: "exhausted" })]);
    const inbox = knownInbox();
    await reconcile(served.api, served.endpoint, inbox, { state, since: new Date(0) });
    await expect(reconcile(served.api, "endpoint-2", inbox, { state })).rejects.toMatchObject({
      code: "no_watermark",
    });
  });

  it("changes nothing in a dry run", async () => {
    const world = await startWorld();
    await world.emit(1, "forgets");
    await world.emit(2, "refuses");
    const report = await world.reconcile({ dryRun: true });
    expect(report).toMatchObject({ dryRun: true, recovered: { missed: 2, acknowledgedAndLost: 0 } });
    expect(report.ledger).toEqual({ ...nothing, listed: 3, stored: 3 });
    expect(await world.stored()).toEqual([]);
    await expect(world.reconcile({ since: undefined })).rejects.toMatchObject({ code: "no_watermark" });
  });
});
