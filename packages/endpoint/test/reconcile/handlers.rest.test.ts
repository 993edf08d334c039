import type { StateStore } from "@esim-webhooks/core";
import { observeReconciliations, type ReconcileMessage, reconcile } from "@esim-webhooks/endpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { exhausted, handled, startMs } from "./handled.ts";

const minute = 60_000;
const hour = 60 * minute;

describe("reconcile with handlers", () => {
  it("runs them oldest first", async () => {
    const seen: string[] = [];
    const { pass } = handled([exhausted("new", startMs + 2), exhausted("old", startMs + 1)], (id) =>
      seen.push(id),
    );
    expect((await pass()).ledger).toMatchObject({ listed: 2, stored: 2 });
    expect(seen).toEqual(["old", "new"]);
  });

  it("lets the others by, and holds the watermark for a day", async () => {
    const deliveries = Array.from({ length: 50 }, (_, index) =>
      exhausted(`good-${index}`, startMs + 5 * hour - index),
    );
    deliveries.push(exhausted("bad", startMs + hour));
    const { pass, state } = handled(deliveries, (id) => {
      if (id === "bad") throw new Error("never");
    });
    const held = new Date(startMs + hour).toISOString();
    expect(await pass()).toMatchObject({
      failing: 1,
      ids: { failed: ["bad"] },
      ledger: { stored: 50, rejected: 1 },
      mark: held,
    });
    expect(await pass(19 * hour)).toMatchObject({ failing: 1, ids: { failed: ["bad"] }, mark: held });
    const messages: ReconcileMessage[] = [];
    onTestFinished(observeReconciliations((message) => void messages.push(message)));
    expect(await pass(hour)).toMatchObject({
      failing: 1,
      ids: { failed: [] }, // it waits for the full pass
      ledger: { rejected: 1 },
      mark: new Date(startMs + 5 * hour).toISOString(),
    });
    expect(messages.at(-1)).toMatchObject({ outcome: "complete", failing: 1, lost: null });
    expect(await state.only()).toHaveProperty("failing.length", 1);
  });

  it("leaves the event out of the passes in between, where it has its place in the ledger", async () => {
    let tries = 0;
    const { reconcilerPass } = handled(
      [exhausted("good", startMs + 2 * hour), exhausted("bad", startMs + hour)],
      (id) => {
        if (id !== "bad") return;
        tries += 1;
        throw new Error("not yet");
      },
    );
    await reconcilerPass();
    for (let minutes = 5; minutes < 60; minutes += 5) {
      expect(await reconcilerPass(5 * minute)).toMatchObject({
        ledger: { listed: 2, duplicate: 1, rejected: 1 },
        failing: 1,
      });
      expect(tries).toBe(1);
    }
    await reconcilerPass(5 * minute);
    expect(tries).toBe(2);
  });

  it("handles an event after an outage of hours", async () => {
    let isDown = true;
    const { reconcilerPass } = handled([exhausted("event", startMs + hour)], () => {
      if (isDown) throw new Error("the database is down");
    });
    for (let passes = 0; passes < 12 * 2; passes++) await reconcilerPass(5 * minute);
    isDown = false;
    let stored = 0;
    for (let passes = 0; passes < 12; passes++) stored += (await reconcilerPass(5 * minute)).ledger.stored;
    expect(stored).toBe(1);
    expect(await reconcilerPass()).toMatchObject({ failing: 0 });
  });

  it("lets an event whose handler never ends fail at its deadline, and goes on with the others", async () => {
    const seen: string[] = [];
    const { pass, errors } = handled(
      [exhausted("stuck", startMs + 1), exhausted("good", startMs + 2)],
      (id) => (id === "stuck" ? new Promise(() => {}) : seen.push(id)),
    );
    const since = new Date(startMs);
    expect(await pass(0, { since, deadlineMs: 20 })).toMatchObject({
      failing: 1,
      ledger: { stored: 1, rejected: 1 },
      mark: new Date(startMs + 1).toISOString(),
    });
    expect(seen).toEqual(["good"]);
    expect(errors).toEqual([expect.stringContaining("did not end within deadlineMs")]);
  });

  it("ends an interrupted pass at the deadline of a handler that never ends", async () => {
    const stop = new AbortController();
    const { pass } = handled([exhausted("stuck", startMs + 1), exhausted("next", startMs + 2)], () => {
      stop.abort();
      return new Promise(() => {});
    });
    const since = new Date(startMs);
    expect(await pass(0, { since, deadlineMs: 20, signal: stop.signal })).toMatchObject({
      interrupted: true,
      ledger: { stored: 0, unsettled: 1 },
    });
  });

  it("moves the watermark no further than the newest attempt, when it is interrupted after an event of the future", async () => {
    const stop = new AbortController();
    const future = (id: string, hours: number) =>
      made({ id, occurredMs: startMs + hours * hour, sentMs: startMs + hour });
    const { pass } = handled([future("next", 21), future("first", 20)], () => stop.abort());
    const { interrupted, mark } = await pass(0, { since: new Date(startMs), signal: stop.signal });
    expect({ interrupted, mark }).toEqual({
      interrupted: true,
      mark: new Date(startMs + hour).toISOString(),
    });
  });

  it("moves the watermark to what it has handled when it is interrupted, and never back", async () => {
    let stop = new AbortController();
    const deliveries = [exhausted("next", startMs + 2 * hour), exhausted("first", startMs + hour)];
    const { pass } = handled(deliveries, () => stop.abort());
    const markOf = async (request: object) => (await pass(0, { ...request, signal: stop.signal })).mark;
    const first = new Date(startMs + hour).toISOString();
    expect(await markOf({ since: new Date(startMs) })).toBe(first);
    deliveries.push(exhausted("late", startMs + hour / 2));
    stop = new AbortController();
    expect(await markOf({})).toBe(first);
  });

  it("does not take an event for failing that another process is handling, and holds the watermark until that has ended", async () => {
    const { pass, store } = handled(
      [exhausted("good", startMs + 2), exhausted("busy", startMs + 1)],
      () => {},
    );
    const busy: typeof store = {
      ...store,
      claim: (key, ...rest) =>
        key.id === "busy" ? { status: "busy", retryAfterMs: 1 } : store.claim(key, ...rest),
    };
    for (let passes = 1; passes <= 3; passes++)
      expect(await pass(hour, { since: new Date(startMs), store: busy })).toMatchObject({
        failing: 0,
        ledger: { rejected: 1 },
        mark: new Date(startMs + 1).toISOString(),
      });
    expect(await pass()).toMatchObject({ failing: 0, ledger: { stored: 1 } });
  });

  it("raises the alarm at once, and then once a second at most, however many events were lost", async () => {
    const delivered = Array.from({ length: 300 }, (_, index) =>
      made({ id: `lost-${index}`, occurredMs: startMs + index }),
    );
    const { pass, errors } = handled(delivered, () => {});
    const startedAt = performance.now();
    expect((await pass()).recovered).toEqual({ missed: 0, acknowledgedAndLost: 300 });
    expect(errors.length).toBeGreaterThan(1);
    expect(errors.length).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 1000);
  });

  it("raises its alarms before its state is written, so that none is lost when that fails", async () => {
    const { pass, errors, state } = handled([{ ...exhausted("odd", startMs + 1), payload: null }], () => {});
    const failing: StateStore = {
      ...state,
      async write(name, value, version) {
        if ((value as { readonly runner?: unknown }).runner === null) throw new Error("the database is down");
        return state.write(name, value, version);
      },
    };
    await expect(pass(0, { since: new Date(startMs), state: failing })).rejects.toThrow("down");
    expect(errors).toEqual([expect.stringContaining("not valid events")]);
  });

  it("tries every listed event with since, also those that wait for the next day", async () => {
    let isFixed = false;
    const { pass } = handled([exhausted("bad", startMs + hour)], () => {
      if (!isFixed) throw new Error("not yet");
    });
    await pass();
    await pass(24 * hour);
    await pass(); // the full one
    isFixed = true;
    const waiting = await pass(hour, {});
    expect(waiting.ledger).toMatchObject({ stored: 0, rejected: 1 });
    expect((await pass(0, { since: new Date(startMs) })).ledger).toMatchObject({ stored: 1, rejected: 0 });
  });

  it("reports an invalid event once, and counts it while it is in range", async () => {
    const invalid = {
      ...exhausted("odd", startMs + 1),
      payload: { type: "esim.enabled", timestamp: "2026-11-20T00:00:00Z" },
    };
    const { pass, errors } = handled([invalid], () => {});
    expect(await pass()).toMatchObject({ ledger: { invalid: 1 }, ids: { invalid: ["odd"] } });
    expect(await pass()).toMatchObject({ ledger: { invalid: 1 }, ids: { invalid: [] } });
    expect(errors.filter((message) => message.includes("not valid events"))).toHaveLength(1);
  });

  it("raises the alarm once for an event whose id no store can hold, with the id escaped and shortened", async () => {
    const seen: string[] = [];
    const long = `msg\u0007${"é".repeat(600)}`;
    const { pass, errors } = handled(
      [exhausted(long, startMs + 1), exhausted("żółw one, two", startMs + 2)],
      (id) => seen.push(id),
    );
    expect(await pass()).toMatchObject({
      ledger: { listed: 2, stored: 1, invalid: 1 },
      ids: { invalid: [], unstorable: [`msg\\u{7}${"é".repeat(60)}… (604 characters)`] },
    });
    expect(await pass()).toMatchObject({ ledger: { duplicate: 1, invalid: 1 }, ids: { unstorable: [] } });
    expect(seen).toEqual(["żółw one, two"]);
    expect(errors.filter((message) => message.includes("No store can hold the ids"))).toHaveLength(1);
  });

  it("counts a delivery without an id as invalid, reports it once, and reads on", async () => {
    const seen: string[] = [];
    const nameless = { ...exhausted("", startMs + 1), eventId: null };
    const { pass, errors } = handled([nameless, exhausted("named", startMs + 2)], (id) => seen.push(id));
    expect(await pass()).toMatchObject({
      ledger: { listed: 2, stored: 1, invalid: 1 },
      ids: { invalid: [""] },
    });
    expect(await pass()).toMatchObject({ ledger: { duplicate: 1, invalid: 1 }, ids: { invalid: [] } });
    expect(seen).toEqual(["named"]);
    expect(errors.filter((message) => message.includes("not valid events"))).toHaveLength(1);
  });

  it("does not run a handler that is added for what was acknowledged before, and does not call that lost", async () => {
    const { state, store } = handled([], () => {});
    const deliveries = [made({ id: "before", occurredMs: startMs })];
    const { api, endpoint } = servedListing(() => deliveries);
    const seen: string[] = [];
    const handler = ({ id }: { readonly id: string }) => void seen.push(id);
    const others = { "esim.disabled": handler };
    const all = { ...others, "esim.enabled": handler };
    const options = { state, store, clock: { now: () => startMs + hour } };
    const since = new Date(startMs - hour);
    expect((await reconcile(api, endpoint, others, { ...options, since })).ledger).toMatchObject({
      filtered: 1,
    });
    deliveries.unshift(made({ id: "after", occurredMs: startMs + 1 }), exhausted("missed", startMs - 1), {
      ...made({ id: "untyped", occurredMs: startMs - 1 }),
      eventType: null,
    });
    expect(await reconcile(api, endpoint, all, options)).toMatchObject({
      ledger: { listed: 4, filtered: 1, stored: 3 },
      recovered: { missed: 1, acknowledgedAndLost: 2 },
    });
    expect(await reconcile(api, endpoint, all, options)).toMatchObject({
      ledger: { filtered: 1, duplicate: 3 },
    });
    expect(seen.toSorted()).toEqual(["after", "missed", "untyped"]);
    expect((await reconcile(api, endpoint, all, { ...options, since })).ledger).toMatchObject({ stored: 1 });
    expect(seen.at(-1)).toBe("before");
  });

  it("takes no event for ignored beyond our own time, though one that was ignored is dated in the future", async () => {
    const { state, store } = handled([], () => {});
    const deliveries = [made({ id: "future", occurredMs: startMs + 400 * 24 * hour, sentMs: startMs })];
    const { api, endpoint } = servedListing(() => deliveries);
    const options = { state, store, clock: { now: () => startMs + hour } };
    const since = new Date(startMs - hour);
    await reconcile(api, endpoint, { "esim.disabled": () => {} }, { ...options, since });
    deliveries.unshift(made({ id: "after", occurredMs: startMs + hour + 1 }));
    const all = await reconcile(api, endpoint, { "esim.*": () => {} }, options);
    expect(all.ids.acknowledgedAndLost).toContain("after");
  });

  it("tries an event once an hour, though the other passes do not read as far down as that", async () => {
    let tries = 0;
    const newer = Array.from({ length: 300 }, (_, index) =>
      exhausted(`good-${index}`, startMs + 6 * hour - index * minute),
    );
    const { reconcilerPass } = handled([...newer, exhausted("bad", startMs + hour / 2)], (id) => {
      if (id !== "bad") return;
      tries += 1;
      throw new Error("never");
    });
    await reconcilerPass();
    for (const [minutes, pages, expected] of [
      [5, 2, 1],
      [54, 2, 1],
      [1, 4, 2],
      [59, 2, 2],
      [1, 4, 3],
    ] as const) {
      expect(await reconcilerPass(minutes * minute)).toMatchObject({ pages, failing: 1 });
      expect(tries).toBe(expected);
    }
  });

  it("forgets a failure once the event is done", async () => {
    const deliveries = [exhausted("bad", startMs + hour)];
    let isFixed = false;
    const { pass, state } = handled(deliveries, () => {
      if (!isFixed) throw new Error("not yet");
    });
    await pass();
    isFixed = true;
    expect(await pass(5 * minute)).toMatchObject({ failing: 0, ledger: { stored: 1 } });
    expect(await state.only()).toHaveProperty("failing", []);
  });

  it("keeps the failures that an interrupted full pass has not seen", async () => {
    const deliveries = [exhausted("bad", startMs + hour)];
    const { pass, state } = handled(deliveries, () => {
      throw new Error("never");
    });
    await pass();
    await pass(25 * hour);
    const interrupted = await pass(0, { signal: AbortSignal.timeout(0) });
    expect(interrupted.interrupted).toBe(true);
    expect(await state.only()).toHaveProperty("failing.length", 1);
  });

  it("raises the alarm for an event that is lost again at most once a day", async () => {
    const { pass, errors, store } = handled([made({ id: "lost", occurredMs: startMs + hour })], () => {});
    const forgetful: typeof store = {
      ...store,
      claim: () => ({ status: "claimed", token: "1" }),
      complete: () => true,
    };
    const recovered = { missed: 0, acknowledgedAndLost: 1 };
    const since = new Date(startMs);
    expect(await pass(0, { store: forgetful, since })).toMatchObject({
      recovered,
      ids: { acknowledgedAndLost: ["lost"] },
    });
    for (const wait of [0, 5 * minute, 23 * hour])
      expect(await pass(wait, { store: forgetful, since })).toMatchObject({
        recovered,
        ids: { acknowledgedAndLost: [] },
      });
    expect(errors).toHaveLength(1);
    await pass(hour, { store: forgetful, since });
    expect(errors).toHaveLength(2);
    expect(errors[1]).toContain("acknowledged and lost");
  });

  it("recovers a delivery without a status, as one with a status that nobody knows", async () => {
    const seen: string[] = [];
    const { pass } = handled([{ ...exhausted("event", startMs + 1), status: null }], (id) => seen.push(id));
    expect((await pass()).ledger).toMatchObject({ listed: 1, stored: 1 });
    expect(seen).toEqual(["event"]);
  });
});
