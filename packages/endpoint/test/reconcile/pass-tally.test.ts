import type { WebhookDelivery } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { type PassState, shortHash, startState } from "../../src/reconcile/pass-state.ts";
import { createPassTally, type SettledDelivery, type TallyOptions } from "../../src/reconcile/pass-tally.ts";
import { made } from "../served-listing.ts";
import { nothing } from "./nothing.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = 100 * day;
const since = now - 50 * day;

function tallyWith(state: Partial<PassState> = {}, more: Partial<TallyOptions> = {}) {
  const start = {
    ...{ endpoint: "endpoint-1", source: "default", newSource: false },
    ...{ firstPassFrom: new Date(since), goBackTo: undefined },
  };
  const initialState = { ...startState(undefined, start, now), ...state };
  const options = {
    initialState,
    depth: "watermark",
    includeComing: false,
    dryRun: false,
    nowMs: now,
  } as const;
  return createPassTally({ ...options, ...more });
}

const settled = (id: string, fate: SettledDelivery["fate"], more: Partial<SettledDelivery> = {}) =>
  ({
    ...{ id, type: "esim.enabled", occurredMs: now, status: "delivered", fate },
    ...more,
  }) satisfies SettledDelivery;
const failed = (id: string, code = "failed", occurredMs = now) =>
  settled(id, "rejected", { code, occurredMs });
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `event-${index}`);
const hashes = (ids: readonly string[]) => ids.map((id) => shortHash(id));

const failing = { failing: hashes(["bad"]) };
const ignored = { ignored: { [shortHash("esim.enabled")]: now - day } };
const pending = (occurredMs: number) => made({ occurredMs, status: "pending" });
const old = now - day - 1;

describe("a pass", () => {
  it.each<[string, string, WebhookDelivery, Partial<PassState>, Partial<TallyOptions>]>([
    ["leaves out", "outOfRange", made({ occurredMs: since - 1 }), {}, {}],
    ["takes", "from since itself", made({ occurredMs: since }), {}, {}],
    ["takes", "sent since then", made({ occurredMs: since - 1, sentMs: since }), {}, {}],
    ["leaves out", "coming", pending(now - day), {}, {}],
    ["takes", "coming for more than a day", pending(old), {}, {}],
    ["takes", "coming, with includeComing", pending(now), {}, { includeComing: true }],
    ["takes", "exhausted", made({ occurredMs: now, status: "exhausted" }), {}, {}],
    ["leaves out", "filtered", made({ occurredMs: now - day }), ignored, {}],
    ["takes", "newer than those without a handler", made({ occurredMs: now - day + 1 }), ignored, {}],
    ["takes", "missed without a handler", made({ occurredMs: old, status: "exhausted" }), ignored, {}],
    ["takes", "without a type", { ...made({ occurredMs: old }), eventType: null }, ignored, {}],
    ["takes", "of another type", { ...made({ occurredMs: old }), eventType: "esim.disabled" }, ignored, {}],
    ["leaves out", "rejected", made({ id: "bad", occurredMs: now }), failing, { depth: "recent" }],
    ["leaves out", "rejected", made({ id: "bad", occurredMs: old }), failing, {}],
    ["takes", "failing for a day at most", made({ id: "bad", occurredMs: now - day }), failing, {}],
    ["takes", "failing, if it is full", made({ id: "bad", occurredMs: old }), failing, { depth: "full" }],
    ["takes", "that do not fail", made({ id: "good", occurredMs: old }), failing, { depth: "recent" }],
    ["takes", "without an id", { ...made({ occurredMs: old }), eventId: null }, failing, { depth: "recent" }],
  ])("%s deliveries %s", (how, what, delivery, state, options) => {
    const tally = tallyWith(state, options);
    const { eventId } = delivery;
    const wanted = tally.takePage({ deliveries: [delivery] });
    if (how === "takes") expect(wanted).toMatchObject([{ eventId }]);
    else expect(wanted).toEqual([]);
    expect(tally.ledger()).toEqual({ ...nothing, listed: 1, [how === "takes" ? "unsettled" : what]: 1 });
  });

  it("knows the times of the listing, and whether it has an end", () => {
    const tally = tallyWith();
    const refused = (sentMs: number) => ({ ...made({ occurredMs: now - 9, sentMs }), httpStatus: 401 });
    const unsent = { ...made({ occurredMs: now, status: "pending" }), sentAt: null };
    expect(tally).toMatchObject({ newestMs: Number.NaN, refusedMs: Number.NaN, isWhole: false });
    expect(tally.oldestMs).toBe(Number.POSITIVE_INFINITY);
    tally.takePage({ deliveries: [unsent] });
    expect(tally).toMatchObject({ pages: 1, newestMs: Number.NaN, oldestMs: now, isWhole: false });
    tally.takePage({ deliveries: [refused(now - 7), refused(now - 5), refused(now - 6)], end: "older" });
    expect(tally).toMatchObject({ newestMs: now - 5, refusedMs: now - 5, oldestMs: now - 7, isWhole: false });
    const last = [made({ occurredMs: now - 1 }), { ...unsent, payload: null }];
    tally.takePage({ deliveries: last, end: "listing" });
    expect(tally).toMatchObject({
      pages: 3,
      newestMs: now - 5,
      refusedMs: now - 5,
      oldestMs: now - 7,
      isWhole: true,
    });
  });

  it("holds the watermark back for the oldest event of a day that is coming or failing, until its next attempt", () => {
    const holders = (tally: ReturnType<typeof tallyWith>) => [tally.oldestHolderMs, tally.nextAttemptMs];
    const tally = tallyWith(failing, { depth: "recent" });
    const coming = (occurredMs: number, nextRetryMs: number) =>
      made({ occurredMs, status: "failed", nextRetryMs });
    tally.takePage({ deliveries: [made({ occurredMs: now }), made({ id: "bad", occurredMs: old })] });
    expect(holders(tally)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    tally.takePage({ deliveries: [coming(now - 2, now + hour), coming(now - 1, now + 2 * hour)] });
    expect(holders(tally)).toEqual([now - 2, now + hour]);
    tally.takePage({ deliveries: [pending(now - 1)] });
    expect(holders(tally)).toEqual([now - 2, now]); // it may be attempted at any time
    tally.takePage({ deliveries: [made({ id: "bad", occurredMs: now - day })] });
    expect(holders(tally)).toEqual([now - day, now]);
    const handled = tallyWith();
    handled.count([settled("good", "stored"), failed("old", "failed", old)]);
    expect(holders(handled)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    handled.count([failed("young", "busy", now - 1)]);
    expect(holders(handled)).toEqual([now - 1, now]);
  });

  it("counts what was stored by what the service says of it; a dry run calls nothing lost", () => {
    const stored = [settled("lost", "stored"), settled("missed", "stored", { status: "exhausted" })];
    for (const dryRun of [false, true]) {
      const tally = tallyWith({}, { dryRun });
      tally.takePage({ deliveries: numbered(4).map((id) => made({ id, occurredMs: now })) });
      tally.count([...stored, settled("there", "duplicate")]);
      expect(tally.ledger()).toEqual({ ...nothing, listed: 4, stored: 2, duplicate: 1, unsettled: 1 });
      expect(tally.recovered()).toEqual({ missed: 1, acknowledgedAndLost: dryRun ? 0 : 1 });
    }
  });
});

describe("the next passes know", () => {
  it("1,000 events whose handlers failed, the latest ones, until they are done", () => {
    const tally = tallyWith({ failing: hashes(["before", "done"]) });
    tally.count([
      failed("one"),
      failed("late", "deadline_reached"),
      failed("busy", "busy"),
      settled("done", "stored"),
    ]);
    expect(tally.remembered(true).failing).toEqual(hashes(["before", "one", "late"]));
    expect([tally.failing, tally.failed]).toEqual([3, ["one", "late"]]);
    tally.count(numbered(999).map((id) => failed(id)));
    expect(tally.remembered(true).failing).toEqual(hashes(["late", ...numbered(999)]));
    expect([tally.failing, tally.failed]).toEqual([1000, ["one", "late", ...numbered(18)]]);
  });

  it("the failed events of earlier passes until a full one has completed", () => {
    const ids = (depth: TallyOptions["depth"], isComplete: boolean) => {
      const tally = tallyWith({ failing: hashes(numbered(1000)) }, { depth });
      tally.count([failed("new")]);
      return tally.remembered(isComplete).failing;
    };
    const latest = hashes([...numbered(1000).slice(1), "new"]);
    expect(ids("full", true)).toEqual(hashes(["new"]));
    for (const [depth, isComplete] of [
      ["full", false],
      ["watermark", true],
      ["watermark", false],
    ] as const)
      expect(ids(depth, isComplete)).toEqual(latest);
  });

  it("the latest events of 50 types that had no handler, by no later time than now", () => {
    const until = (type: string, occurredMs: number) => ({ [shortHash(type)]: occurredMs });
    const tally = tallyWith({ ignored: { ...until("before", now - 60), ...until("again", now - 70) } });
    const filtered = (type: string | null, occurredMs: number) =>
      settled("one", "filtered", { type, occurredMs });
    const types = [filtered("again", now - 80), filtered("future", now + 5), filtered("one", now - 9)];
    tally.count([...types, filtered("one", now - 8), filtered("one", now - 10)]);
    tally.count([filtered(null, now), filtered("timeless", Number.NaN), settled("handled", "stored")]);
    const known = { ...until("again", now - 70), ...until("future", now), ...until("one", now - 8) };
    expect(tally.remembered(true).ignored).toEqual({ ...until("before", now - 60), ...known });
    tally.count(numbered(47).map((type, index) => filtered(type, now - 40 + index)));
    const { ignored } = tally.remembered(true);
    expect(Object.keys(ignored)).toHaveLength(50);
    expect(ignored).not.toHaveProperty([shortHash("again")]);
    expect(ignored).toHaveProperty([shortHash("before")]);
  });
});
