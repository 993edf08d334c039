import type { ApiClient } from "@esim-webhooks/client";
import { createProcessor, memoryStore } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { createReconciler, reconcile } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { nothing } from "./nothing.ts";

const hour = 3_600_000;

describe("reconcile", () => {
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

  const processor = (store: object) => ({ process: async () => ({}), store });
  const keeping = (capabilities?: object, keeper: object = memoryStore()) => ({ ...keeper, capabilities });
  type Refused = [string, string, unknown, object];

  it.each<Refused>([
    ["The state store", "state", knownInbox(), { state: keeping({ durable: false }, memoryState()) }],
    ["The inbox", "target", memoryInbox(), {}],
    ["The inbox", "target", keeping(undefined, knownInbox()), {}],
    ["The store of the handlers", "store", { "*": () => {} }, {}],
    ["The store of the handlers", "store", { "*": () => {} }, { store: memoryStore() }],
    ["The store of the handlers", "store", processor(memoryStore()), { store: keeping({ durable: true }) }],
  ])(
    "refuses what forgets, and names the options that make it forget: %s, %s",
    async (what, option, target, more) => {
      const { api, endpoint } = servedListing(() => []);
      const options = { state: memoryState(), since: new Date(), ...more };
      const refusal = {
        ...{ code: "durable_store_required", option },
        message: expect.stringMatching(
          `${what} is not durable.*SQLite with durability "full", Redis without`,
        ),
      };
      await expect(reconcile(api, endpoint, target as never, options)).rejects.toMatchObject(refusal);
    },
  );

  const dayMs = 24 * hour;
  const forgetting = (retentionMs: number) => ({ durable: true, retentionMs });
  it.each<Refused>([
    ["The inbox", "604800", keeping(forgetting(7 * dayMs), knownInbox()), {}],
    ["The store of the handlers", "691199", { "*": () => {} }, { store: keeping(forgetting(8 * dayMs - 1)) }],
    ["The store of the handlers", "604800", processor(keeping(forgetting(7 * dayMs))), {}],
  ])(
    "refuses a target that forgets done ids before the listing does: %s, after %s s",
    async (what, seconds, target, more) => {
      const { api, endpoint } = servedListing(() => []);
      const options = { state: memoryState(), since: new Date(), ...more };
      const refusal = {
        code: "invalid_option",
        message: expect.stringContaining(`${what} forgets done ids after ${seconds} s`),
      };
      await expect(reconcile(api, endpoint, target as never, options)).rejects.toMatchObject(refusal);
      await expect(createReconciler(api, endpoint, target as never, options).run()).rejects.toMatchObject(
        refusal,
      );
    },
  );

  it("accepts a store that remembers done ids for 8 days, once it has asked its server whether it is durable", async () => {
    const { api, endpoint } = servedListing(() => []);
    const store = {
      ...keeping(),
      async ready() {
        store.capabilities = forgetting(8 * dayMs);
      },
    };
    const options = { state: memoryState(), since: new Date(), store: store as never };
    expect(await reconcile(api, endpoint, { "*": () => {} }, options)).toMatchObject({ interrupted: false });
    const dry = { ...options, store: undefined, dryRun: true };
    expect(await reconcile(api, endpoint, memoryInbox(), dry)).toMatchObject({ dryRun: true }); // it gets nothing
  });

  it("refuses a since in the future, which would leave out every event until then", async () => {
    const { api, endpoint } = servedListing(() => []);
    const inbox = knownInbox();
    const options = { state: memoryState(), since: new Date(Date.now() + 25 * hour) };
    const message = expect.stringMatching(/"since" is .* in the future/);
    const refusal = (where: string) => expect.objectContaining({ code: "invalid_option", where, message });
    await expect(reconcile(api, endpoint, inbox, options)).rejects.toEqual(refusal("reconcile"));
    expect(() => createReconciler(api, endpoint, inbox, options)).toThrow(refusal("createReconciler"));
    const clock = { now: () => options.since.getTime() - 24 * hour };
    expect(await reconcile(api, endpoint, inbox, { ...options, clock })).toMatchObject({
      interrupted: false,
    });
  });

  const { ready: _, ...unready } = memoryState();
  it.each<[string, unknown, ("reconcile" | "createReconciler")?]>([
    ["state", -1],
    ["state", unready],
    ["state", { ...memoryState(), read: 1 }],
    ["state", { ...memoryState(), write: 1 }],
    ["since", -1],
    ["since", new Date(Number.NaN)],
    ["overlapMs", -1],
    ["leaseMs", 29],
    ["deadlineMs", 0],
    ["concurrency", 0],
    ["newSource", 1],
    ["includeComing", 1],
    ["eventTypes", "esim.enabled"],
    ["eventTypes", [1]],
    ["dryRun", 1, "reconcile"],
    ["acknowledgeGaps", 1, "reconcile"],
    ["signal", {}, "reconcile"],
    ["everyMs", 0, "createReconciler"],
  ])(
    "refuses an option that cannot be right, and names the function and the option: %s: %j",
    (option, value, only) => {
      const { api, endpoint } = servedListing(() => []);
      const options = { state: memoryState(), since: new Date(), [option]: value } as never;
      const refusal = (where: string) => expect.objectContaining({ code: "invalid_option", where, option });
      if (only !== "reconcile")
        expect(() => createReconciler(api, endpoint, knownInbox(), options)).toThrow(
          refusal("createReconciler"),
        );
      if (only === "createReconciler") return;
      return expect(reconcile(api, endpoint, knownInbox(), options)).rejects.toEqual(refusal("reconcile"));
    },
  );

  it.each([
    ["the client", 0, knownInbox(), "an inbox was passed as the client"],
    ["the endpoint", 1, knownInbox(), "an inbox was passed as the endpoint"],
    ["the target", 2, memoryStore(), "a dedupe store was passed as the target"],
    ["the options", 3, knownInbox(), "an inbox was passed as the options"],
    [
      "a client that is none",
      0,
      undefined,
      "the first argument is not a client. Pass what createClient returns.",
    ],
    [
      "a client of something else",
      0,
      {},
      "the first argument is not a client. Pass what createClient returns.",
    ],
  ])("refuses a mistake in %s, and says how to pass it", async (_, place, wrong, message) => {
    const { api, endpoint } = servedListing(() => []);
    const given: unknown[] = [api, endpoint, knownInbox(), { state: memoryState(), since: new Date() }];
    given[place] = wrong;
    const refusal = (where: string) =>
      expect.objectContaining({ code: "invalid_option", where, message: expect.stringContaining(message) });
    const [one, two, three, four] = given as Parameters<typeof reconcile>;
    await expect(reconcile(one, two, three, four)).rejects.toEqual(refusal("reconcile"));
    expect(() => createReconciler(one, two, three, four)).toThrow(refusal("createReconciler"));
  });

  it("recovers through a processor, whose handlers demand no subscription", async () => {
    const seen: string[] = [];
    const store = keeping(forgetting(8 * dayMs)) as never;
    const processor = createProcessor({ "*": ({ id }) => void seen.push(id) }, { store });
    const { api, endpoint } = servedListing(() => [made({ id: "one", occurredMs: Date.now() })]);
    const state = memoryState();
    expect(await reconcile(api, endpoint, processor, { state, since: new Date(0) })).toMatchObject({
      ledger: { stored: 1 },
    });
    expect(seen).toEqual(["one"]);
    expect(await state.only()).toMatchObject({ lacking: {} });
  });

  it("notes in the inbox and in the log how each pass ended, and when a delivery was last answered 401; a dry run is only logged", async () => {
    const nowMs = Date.now();
    const refused = { ...made({ occurredMs: nowMs - hour, status: "exhausted" }), httpStatus: 401 };
    const listing = [made({ occurredMs: nowMs })];
    const { api, endpoint } = servedListing(() => listing);
    const memory = memoryInbox();
    const inbox = { ...memory, capabilities: { ...memory.capabilities, durable: true } };
    const lines: object[] = [];
    const logger = loggerWith({ info: (fields) => void lines.push(fields) });
    const options = { state: memoryState(), logger, since: new Date(0) };
    const first = await reconcile(api, endpoint, inbox, options);
    expect(first.refusedAt).toBeNull();
    listing.push(refused);
    const interrupted = { ...options, signal: AbortSignal.abort() };
    const reports = [
      first,
      await reconcile(api, endpoint, inbox, { ...options, dryRun: true }),
      await reconcile(api, endpoint, inbox, interrupted),
      await reconcile(api, endpoint, inbox, options),
    ];
    const failing = { ...inbox, put: () => Promise.reject(new Error("down")) };
    await expect(reconcile(api, endpoint, failing, options)).rejects.toThrow();
    expect(lines).toEqual(
      reports.map(({ ids: _, lost: __, gaps: ___, ...fields }) => ({
        ...{ code: "reconciled", ...fields },
        depth: "watermark",
      })),
    );
    const [, , , last] = reports;
    expect(last?.refusedAt).toBe(refused.sentAt);
    const noted = { kind: "reconcile", source: "default" };
    const times = { startedAt: expect.any(Date), endedAt: expect.any(Date) };
    const refusedAt = new Date(refused.sentAt ?? 0);
    const ofReport = (index: number) => ({ run: reports[index]?.run, ledger: reports[index]?.ledger });
    expect((await inbox.runs()).toReversed()).toEqual([
      { ...noted, ...times, ...ofReport(0), outcome: "complete" },
      { ...noted, ...times, ...ofReport(2), outcome: "interrupted" },
      { ...noted, ...times, ...ofReport(3), outcome: "complete", refusedAt },
      {
        ...noted,
        ...times,
        run: expect.any(String),
        ledger: expect.any(Object),
        outcome: "failed",
        refusedAt,
      },
    ]);
  });

  it("recovers also if it is not known whether the endpoint is active, and reports no gaps then", async () => {
    const { api, endpoint } = servedListing(() => [made({ occurredMs: Date.now() })]);
    const lines: object[] = [];
    const logger = loggerWith({ debug: (fields) => void lines.push(fields) });
    const err = new Error("down");
    const list = () => {
      throw err;
    };
    const unlisted = { ...api, webhooks: { ...api.webhooks, list } } as unknown as ApiClient;
    for (const [client, reference] of [
      [unlisted, endpoint],
      [api, "endpoint-2"],
    ] as const) {
      const options = { state: memoryState(), since: new Date(0), logger };
      for (let passes = 1; passes <= 2; passes++) {
        const report = await reconcile(client, reference, knownInbox(), options);
        expect(report).toMatchObject({ gaps: null, ledger: { stored: 1 } });
        if (client === unlisted)
          expect(lines).toContainEqual({ run: report.run, endpoint, source: "default", err });
      }
    }
    expect(lines).toHaveLength(2);
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
});
