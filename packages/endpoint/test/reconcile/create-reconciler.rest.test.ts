import type { WebhookDelivery } from "@esim-webhooks/client";
import { memoryInbox } from "@esim-webhooks/core/testing";
import {
  createReconciler,
  observeReconciliations,
  type ReconcileMessage,
  type ReconcilerOptions,
  reconcile,
} from "@esim-webhooks/endpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { made, servedListing } from "../served-listing.ts";
import { type KnownInbox, knownInbox, memoryState } from "./memory-state.ts";

const startMs = Date.parse("2026-11-20T00:00:00Z");
/** The clock of every pass: the events have a fixed date, and the listing forgets them after 7 days. */
const clock = { now: () => startMs + 3_600_000 };

function observed(): ReconcileMessage[] {
  const messages: ReconcileMessage[] = [];
  onTestFinished(observeReconciliations((message) => void messages.push(message)));
  return messages;
}

/** A reconciler that runs until it is stopped. */
function running(
  options: Partial<ReconcilerOptions> & Pick<ReconcilerOptions, "state">,
  deliveries: () => readonly WebhookDelivery[],
  inbox = knownInbox(),
) {
  const { api, endpoint } = servedListing(deliveries);
  const stop = new AbortController();
  const since = new Date(startMs);
  const reconciler = createReconciler(api, endpoint, inbox, {
    ...{ since, clock, everyMs: 20, leaseMs: 60 },
    ...options,
  });
  const ended = reconciler.run({ signal: stop.signal });
  const end = async () => {
    stop.abort();
    await ended;
  };
  onTestFinished(end);
  return { inbox, api, endpoint, ended, end };
}

describe("a reconciler", () => {
  it("makes a pass at once and then at intervals, until it is stopped", async () => {
    const messages = observed();
    const deliveries = [made({ id: "first", occurredMs: startMs })];
    const { inbox, end } = running({ state: memoryState() }, () => deliveries);
    await expect.poll(() => [...inbox.ids]).toEqual(["first"]);
    deliveries.unshift(made({ id: "second", occurredMs: startMs + 1 }));
    await expect.poll(() => [...inbox.ids]).toEqual(["first", "second"]);
    await end();
    const passes = messages.length;
    expect(messages.at(-1)?.outcome).toBe("complete");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(messages).toHaveLength(passes);
  });

  it("makes one pass at a time, however many run, and another goes on when one is stopped", async () => {
    const messages = observed();
    const state = memoryState();
    const inbox = knownInbox();
    const deliveries = Array.from({ length: 150 }, (_, index) => made({ occurredMs: startMs - index }));
    const all = [1, 2, 3].map(() => running({ state, leaseMs: 3000 }, () => deliveries, inbox));
    const completed = () => messages.filter(({ outcome }) => outcome === "complete").length;
    await expect.poll(completed).toBeGreaterThan(5);
    for (const [index, one] of all.entries()) {
      await one.end();
      deliveries.unshift(made({ id: `after-${index}`, occurredMs: startMs + 1 + index }));
      if (one !== all.at(-1)) await expect.poll(() => [...inbox.ids.keys()]).toContain(`after-${index}`);
    }
    const complete = new Set(messages.filter(({ outcome }) => outcome === "complete").map(({ run }) => run));
    let under: string | undefined;
    for (const { run, outcome } of messages) {
      if (!complete.has(run)) continue; // it was stopped while it waited for the pass of another one
      if (under !== undefined) expect(run).toBe(under);
      under = outcome === "running" ? run : undefined;
    }
    expect(messages.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  });

  it("makes its passes beside a process that fails in every one", async () => {
    const state = memoryState();
    const inbox = knownInbox();
    const deliveries = [made({ id: "first", occurredMs: startMs, status: "exhausted" })];
    const { api, endpoint } = servedListing(() => deliveries);
    const failing = { ...inbox, put: async () => Promise.reject(new Error("no route to the database")) };
    const failedPass = () =>
      reconcile(api, endpoint, failing, { state, clock, leaseMs: 3000 }).catch(() => {});
    const read: typeof state.read = async (name) => {
      if ((await stateOf(state))?.runner === null) await failedPass(); // before each pass of the healthy one
      return state.read(name);
    };
    running({ state: { ...state, read }, leaseMs: 3000 }, () => deliveries, inbox);
    await expect.poll(() => [...inbox.ids]).toEqual(["first"]);
    deliveries.unshift(made({ id: "second", occurredMs: startMs + 1, status: "exhausted" }));
    await expect.poll(() => [...inbox.ids]).toEqual(["first", "second"]);
  });

  it.each([
    ["goes on when that one has stopped", () => Date.now()],
    ["does so when all their passes are in the same millisecond", clock.now],
  ])("makes no pass while another process makes them, and %s", async (_, now) => {
    const state = memoryState();
    const inbox = knownInbox();
    const { api, endpoint, pages } = servedListing(() => []);
    const other = servedListing(() => []);
    let others = 0;
    let isStopped = false;
    const read: typeof state.read = async (name) => {
      if (!isStopped && (await stateOf(state))?.runner === null) {
        await reconcile(other.api, endpoint, inbox, { state, clock: { now } });
        others += 1;
      }
      return state.read(name);
    };
    const stop = new AbortController();
    onTestFinished(() => stop.abort()); // also when it fails: observers in other tests would see its passes
    const options = { state: { ...state, read }, since: new Date(now()), clock: { now }, everyMs: 1 };
    const ended = createReconciler(api, endpoint, inbox, options).run({ signal: stop.signal });
    await expect.poll(() => others).toBeGreaterThan(10);
    expect(pages()).toBe(1);
    isStopped = true;
    await expect.poll(pages).toBeGreaterThan(1);
    stop.abort();
    await ended;
  });

  it("takes the place of a pass that was killed, once its lease has passed", async () => {
    const state = memoryState();
    const { api, endpoint } = servedListing(() => []);
    const { killed } = killedAfterClaim(state);
    void reconcile(api, endpoint, knownInbox(), {
      state: killed,
      since: new Date(startMs),
      clock,
      leaseMs: 60,
    });
    await expect.poll(() => observedRunner(state)).not.toBeNull();
    const { inbox } = running({ state, leaseMs: 2 ** 31 - 1 }, () => [
      made({ id: "late", occurredMs: startMs }),
    ]);
    await expect.poll(() => [...inbox.ids]).toEqual(["late"]);
  });

  it("does not take a pass with a longer lease for dead, though it writes nothing for a whole lease of the other process", async () => {
    const state = memoryState();
    const { api, endpoint } = servedListing(() => [made({ occurredMs: startMs })]);
    const inbox = knownInbox();
    const { held, release } = heldUp(inbox);
    const since = new Date(startMs);
    const first = reconcile(api, endpoint, held, { state, since, clock, leaseMs: 1500 }); // its first heartbeat is after half a second
    await expect.poll(() => observedRunner(state)).not.toBeNull();
    await expect(reconcile(api, endpoint, inbox, { state, since, clock, leaseMs: 60 })).rejects.toMatchObject(
      {
        code: "reconcile_in_use",
      },
    );
    release();
    expect(await first).toMatchObject({ interrupted: false });
  });

  it("stops a pass whose place another process took, and leaves the watermark to that one", async () => {
    const state = memoryState();
    const { api, endpoint } = servedListing(() => [made({ occurredMs: startMs + 5 })]);
    const inbox = knownInbox();
    const since = new Date(startMs);
    const { held, release } = heldUp(inbox);
    const { killed, revive } = killedAfterClaim(state);
    const late = reconcile(api, endpoint, held, { state: killed, since, clock, leaseMs: 60 });
    const failure = expect(late).rejects.toMatchObject({ code: "reconcile_in_use" });
    await expect.poll(() => observedRunner(state)).not.toBeNull();
    const report = await reconcile(api, endpoint, inbox, { state, since, clock, leaseMs: 60 });
    revive();
    release();
    await failure;
    expect((await stateOf(state)).mark).toBe(report.mark);
  });

  it("refuses a pass by hand while another process makes one", async () => {
    const state = memoryState();
    const { api, endpoint } = servedListing(() => [made({ occurredMs: startMs })]);
    const inbox = knownInbox();
    const { held, release } = heldUp(inbox);
    const options = { state, since: new Date(startMs), clock, leaseMs: 1500 }; // its heartbeat is after half a second
    const first = reconcile(api, endpoint, held, options);
    await expect.poll(() => observedRunner(state)).not.toBeNull();
    await expect(reconcile(api, endpoint, inbox, options)).rejects.toMatchObject({
      code: "reconcile_in_use",
    });
    release();
    expect(await first).toMatchObject({ interrupted: false });
  });

  it("lets a pass that waits for its place be interrupted, as one that is under way", async () => {
    const state = memoryState();
    const { api, endpoint } = servedListing(() => [made({ occurredMs: startMs })]);
    const inbox = knownInbox();
    const { held, release } = heldUp(inbox);
    const options = { state, since: new Date(startMs), clock, leaseMs: 2 ** 31 - 1 };
    const first = reconcile(api, endpoint, held, options);
    await expect.poll(() => observedRunner(state)).not.toBeNull();
    const before = await state.only();
    const stop = new AbortController();
    const logger = loggerWith({ info: () => stop.abort() });
    const waiting = await reconcile(api, endpoint, inbox, { ...options, signal: stop.signal, logger });
    expect(waiting).toMatchObject({ interrupted: true, ledger: { listed: 0, stored: 0 } });
    expect(await reconcile(api, endpoint, inbox, { ...options, signal: AbortSignal.abort() })).toMatchObject({
      interrupted: true,
      ledger: { listed: 0, stored: 0 },
    });
    expect(await state.only()).toEqual(before);
    release();
    expect(await first).toMatchObject({ interrupted: false, ledger: { stored: 1 } });
  });

  it("logs a pass that fails, and makes it again", async () => {
    const errors: unknown[] = [];
    const logger = loggerWith({ error: (fields) => void errors.push(fields["err"]) });
    const inbox = knownInbox();
    let failures = 2;
    const put: typeof inbox.put = async (entries) => {
      if (failures-- > 0) throw new Error("the database is down");
      return inbox.put(entries);
    };
    running(
      { state: memoryState(), logger },
      () => [made({ id: "one", occurredMs: startMs, status: "exhausted" })],
      { ...inbox, put },
    );
    await expect.poll(() => [...inbox.ids]).toEqual(["one"]);
    expect(errors).toMatchObject([{ code: "store_unavailable" }, { code: "store_unavailable" }]);
  });

  it("rejects for a mistake in the set-up", async () => {
    const { api, endpoint } = servedListing(() => []);
    const state = memoryState();
    await expect(createReconciler(api, endpoint, knownInbox(), { state }).run()).rejects.toMatchObject({
      code: "no_watermark",
    });
    await expect(createReconciler(api, endpoint, memoryInbox(), { state }).run()).rejects.toMatchObject({
      code: "durable_store_required",
    });
    expect(() => createReconciler(api, endpoint, { state } as never, knownInbox() as never)).toThrow(
      /was passed as/,
    );
  });
});

/** The inbox, which stores nothing before it is released. */
function heldUp(inbox: KnownInbox) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const put: KnownInbox["put"] = async (entries) => {
    await promise;
    return inbox.put(entries);
  };
  return { held: { ...inbox, put }, release: resolve };
}

/** The state, which stores nothing after the claim of a pass before the pass is revived. */
function killedAfterClaim(state: ReturnType<typeof memoryState>) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isClaimed = false;
  const write: typeof state.write = async (name, value, version) => {
    if (isClaimed) await promise;
    isClaimed = true;
    return state.write(name, value, version);
  };
  return { killed: { ...state, write }, revive: resolve };
}

const stateOf = async (state: ReturnType<typeof memoryState>) =>
  (await state.only()) as { mark: string; runner: { run: string } | null };
const observedRunner = async (state: ReturnType<typeof memoryState>) =>
  (await stateOf(state))?.runner ?? null;
