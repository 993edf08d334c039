import type { WebhookDelivery } from "@esim-webhooks/client";
import { memoryStore, type StateStore } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/kit";
import {
  observeReconciliations,
  type ReconcileMessage,
  type ReconcileOptions,
  type ReconcileReport,
  reconcile,
} from "@esim-webhooks/endpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { memoryState } from "./memory-state.ts";
import { oneTurn } from "./one-turn.ts";

const minute = 60_000;
const hour = 60 * minute;
const startMs = Date.parse("2026-11-20T00:00:00Z");

/** Handlers whose store says it is durable, behind a listing. */
function handled(deliveries: readonly WebhookDelivery[], handler: (id: string) => unknown) {
  const { api, endpoint } = servedListing(() => deliveries);
  const memory = memoryStore();
  const store = { ...memory, capabilities: { ...memory.capabilities, durable: true } };
  const state = memoryState();
  let nowMs = startMs + 24 * hour;
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: unknown, message: string) => void errors.push(message) };
  const options = { state, store, logger, clock: { now: () => nowMs } };
  const handlers = { "*": async ({ id }: { readonly id: string }) => void (await handler(id)) };
  let since: { readonly since?: Date } = { since: new Date(startMs) };
  return {
    errors,
    state,
    store,
    /** A pass so long after the one before, by our clock. */
    async pass(afterMs = 0, request: Partial<ReconcileOptions> = since): Promise<ReconcileReport> {
      nowMs += afterMs;
      since = {};
      const report = await reconcile(api, endpoint, handlers, { ...options, ...request });
      const { listed, ...rest } = report.ledger;
      expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBe(listed);
      return report;
    },
  };
}

/** The waits between the tries. */
const waits = [5, 10, 20, 40, 80, 160, 320, 640].map((minutes) => minutes * minute);

const exhausted = (id: string, occurredMs: number) => made({ id, occurredMs, status: "exhausted" });

describe("reconcile with handlers", () => {
  it("runs them oldest first", async () => {
    const seen: string[] = [];
    const { pass } = handled([exhausted("new", startMs + 2), exhausted("old", startMs + 1)], (id) =>
      seen.push(id),
    );
    expect((await pass()).ledger).toMatchObject({ listed: 2, stored: 2 });
    expect(seen).toEqual(["old", "new"]);
  });

  it("tries an event whose handler fails nine times, gives it up once, and lets the others by", async () => {
    let tries = 0;
    const deliveries = Array.from({ length: 500 }, (_, index) =>
      exhausted(`good-${index}`, startMs + 5 * hour - index),
    );
    deliveries.push(exhausted("bad", startMs + hour));
    const { pass, errors } = handled(deliveries, (id) => {
      if (id !== "bad") return;
      tries += 1;
      throw new Error("never");
    });
    const first = await pass();
    expect(first).toMatchObject({ failing: 1, givenUp: 0, ledger: { stored: 500, rejected: 1 } });
    const held = new Date(startMs + hour).toISOString();
    expect(first.mark).toBe(held);
    for (const wait of waits.slice(0, -1))
      expect(await pass(wait)).toMatchObject({ failing: 1, givenUp: 0, mark: held });
    const messages: ReconcileMessage[] = [];
    onTestFinished(observeReconciliations((message) => void messages.push(message)));
    const last = await pass(waits.at(-1));
    expect(messages.at(-1)).toMatchObject({ outcome: "complete", failing: 0, givenUp: 1, lost: null });
    expect(last).toMatchObject({ failing: 0, givenUp: 1, ids: { givenUp: ["bad"] } });
    expect(last.mark).toBe(new Date(startMs + 5 * hour).toISOString());
    expect(await pass(24 * hour)).toMatchObject({ givenUp: 0 });
    expect(await pass(24 * hour)).toMatchObject({ failing: 0, givenUp: 0 });
    expect(tries).toBe(9);
    expect(errors.filter((message) => message.includes("given up"))).toHaveLength(1);
  });

  it("leaves an event out that is not due, which holds the watermark and has its place in the ledger", async () => {
    let tries = 0;
    const { pass } = handled(
      [exhausted("good", startMs + 2 * hour), exhausted("bad", startMs + hour)],
      (id) => {
        if (id !== "bad") return;
        tries += 1;
        throw new Error("not yet");
      },
    );
    const { mark } = await pass();
    for (const [index, wait] of waits.entries()) {
      expect(await pass(wait - 2 * minute)).toMatchObject({
        ledger: { listed: 2, duplicate: 1, rejected: 1 },
        failing: 1,
        mark,
      });
      expect(tries).toBe(index + 1);
      await pass(2 * minute);
      expect(tries).toBe(index + 2);
    }
  });

  it("brings an event in after an outage of hours, when passes are made every five minutes", async () => {
    let isDown = true;
    const { pass } = handled([exhausted("event", startMs + hour)], () => {
      if (isDown) throw new Error("the database is down");
    });
    for (let passes = 0; passes < 12 * 10; passes++) await pass(5 * minute);
    isDown = false;
    let stored = 0;
    for (let passes = 0; passes < 12 * 12; passes++) stored += (await pass(5 * minute)).ledger.stored;
    expect(stored).toBe(1);
    expect((await pass()).failing).toBe(0);
  });

  it("tries an event at once whose last try seems to lie in the future: the clock was set back", async () => {
    let tries = 0;
    const { pass } = handled([exhausted("bad", startMs + hour)], () => {
      tries += 1;
      throw new Error("never");
    });
    await pass();
    await pass(-2 * hour);
    expect(tries).toBe(2);
    await pass(9 * minute);
    expect(tries).toBe(2);
    await pass(minute);
    expect(tries).toBe(3);
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

  it("gives no event up that another process is handling, and holds the watermark until that has ended", async () => {
    const { pass, store } = handled(
      [exhausted("good", startMs + 2), exhausted("busy", startMs + 1)],
      () => {},
    );
    const busy: typeof store = {
      ...store,
      claim: (key, ...rest) =>
        key.id === "busy" ? { status: "busy", retryAfterMs: 1 } : store.claim(key, ...rest),
    };
    for (let passes = 1; passes <= 10; passes++)
      expect(await pass(12 * hour, { since: new Date(startMs), store: busy })).toMatchObject({
        failing: 1,
        givenUp: 0,
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

  it("tries at once with since, also what was given up", async () => {
    let isMended = false;
    const { pass } = handled([exhausted("bad", startMs + hour)], () => {
      if (!isMended) throw new Error("not yet");
    });
    for (const wait of [0, ...waits]) await pass(wait);
    isMended = true;
    expect((await pass()).ledger).toMatchObject({ stored: 0, rejected: 1 });
    expect((await pass(0, { since: new Date(startMs) })).ledger).toMatchObject({ stored: 1, rejected: 0 });
  });

  it("counts what was given up as rejected while it is in range, and does not run it", async () => {
    let tries = 0;
    const { pass } = handled([exhausted("bad", startMs + hour)], () => {
      tries += 1;
      throw new Error("never");
    });
    for (const wait of [0, ...waits]) await pass(wait);
    expect((await pass(24 * hour)).ledger).toMatchObject({ listed: 1, rejected: 1 });
    expect(tries).toBe(9);
  });

  it("remembers 2,000 failing and 600 invalid events in one state", async () => {
    const deliveries = Array.from({ length: 2600 }, (_, index) =>
      exhausted(`bad-${index}`, startMs + hour - index),
    ).map((delivery, index) => (index % 13 < 3 ? { ...delivery, payload: null } : delivery));
    const { pass, state } = handled(deliveries, () => {
      throw new Error("never");
    });
    for (const wait of [0, ...waits.slice(0, -1)])
      expect(await pass(wait)).toMatchObject({ failing: 2000, ledger: { rejected: 2000, invalid: 600 } });
    expect(JSON.stringify(await state.only()).length).toBeLessThan(64 * 1024 - 1500);
  });

  it("stops when more than 2,000 events fail, and gives none of them up", async () => {
    const deliveries = Array.from({ length: 2100 }, (_, index) =>
      exhausted(`bad-${index}`, startMs + hour - index),
    );
    let isDown = true;
    const { pass } = handled(deliveries, () => {
      if (isDown) throw new Error("the database is down");
    });
    for (let passes = 1; passes <= 6; passes++) {
      await expect(pass()).rejects.toMatchObject({ code: "too_many_failures" });
    }
    isDown = false;
    expect((await pass()).ledger).toMatchObject({ stored: 2100 });
  });

  it("goes on beside 2,000 events that were given up, and remembers those that were tried last", async () => {
    const deliveries = Array.from({ length: 2000 }, (_, index) =>
      exhausted(`bad-${index}`, startMs + hour - index),
    );
    const ran: string[] = [];
    const { pass, state } = handled(deliveries, (id) => {
      if (id.startsWith("bad")) throw new Error("never");
      ran.push(id);
    });
    for (const wait of [0, ...waits]) await pass(wait);
    deliveries.unshift(exhausted("good", startMs + 3 * hour), exhausted("bad-new", startMs + 2 * hour));
    expect(await pass(6 * hour)).toMatchObject({ failing: 1, ledger: { stored: 1, rejected: 2001 } });
    expect(await pass(hour)).toMatchObject({ failing: expect.any(Number), ledger: { duplicate: 1 } });
    expect(ran).toEqual(["good"]);
    const { failures } = (await state.only()) as { failures: Record<string, [number, number]> };
    expect(Object.values(failures)).toHaveLength(2000);
    expect(Object.values(failures)).toContainEqual([2, expect.any(Number)]); // bad-new is not the one that was forgotten
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

  it("remembers what was given up until the listing forgets it, also when the watermark has passed it and moves back", async () => {
    let tries = 0;
    const bad = exhausted("bad", startMs + hour);
    const deliveries = Array.from({ length: 300 }, (_, index) =>
      made({ occurredMs: startMs + 20 * hour - index * 2 * minute }),
    );
    deliveries.push(bad);
    const { pass, state } = handled(deliveries, (id) => {
      if (id !== "bad") return;
      tries += 1;
      throw new Error("never");
    });
    for (const wait of [0, ...waits]) await pass(wait);
    expect(await pass()).toMatchObject({ pages: 2, ledger: { rejected: 0 } });
    const late = made({
      id: "late",
      occurredMs: startMs + hour,
      status: "failed",
      nextRetryMs: startMs + 50 * hour,
    });
    deliveries.unshift(late);
    const clock = { now: () => startMs + 24 * hour };
    expect(await pass(0, { clock })).toMatchObject({ ledger: { coming: 1 } });
    expect(await pass(0, { clock })).toMatchObject({ ledger: { coming: 1, rejected: 1 } });
    expect(tries).toBe(9);
    deliveries.splice(0);
    await pass(24 * hour);
    await pass(); // the full one
    expect(await state.only()).toHaveProperty("failures", {});
  });

  it("tries an event when it is due, though a reconciler reads as far down as that only once an hour", async () => {
    const { state, store } = handled([], () => {});
    const newer = Array.from({ length: 300 }, (_, index) =>
      made({ occurredMs: startMs + 20 * hour - index * 2 * minute }),
    );
    const { api, endpoint } = servedListing(() => [...newer, exhausted("bad", startMs + hour)]);
    let tries = 0;
    const handlers = {
      "*": async ({ id }: { readonly id: string }) => {
        if (id !== "bad") return;
        tries += 1;
        throw new Error("never");
      },
    };
    const turn = (ms: number) =>
      oneTurn(api, endpoint, handlers, {
        state,
        store,
        since: new Date(startMs),
        clock: { now: () => startMs + 21 * hour + ms },
      });
    for (const [minutes, expected] of [
      [0, 1],
      [4, 1],
      [5, 2],
      [14, 2],
      [15, 3],
    ] as const) {
      expect(await turn(minutes * minute)).toMatchObject({ outcome: "complete", failing: 1 });
      expect(tries).toBe(expected);
    }
  });

  it("forgets the tries of an event that is done since", async () => {
    const deliveries = [exhausted("bad", startMs + hour)];
    let isMended = false;
    const { pass, state } = handled(deliveries, () => {
      if (!isMended) throw new Error("not yet");
    });
    await pass();
    isMended = true;
    expect(await pass(5 * minute)).toMatchObject({ failing: 0, ledger: { stored: 1 } });
    expect(await state.only()).toHaveProperty("failures", {});
  });

  it("reports the first 500 invalid events of a pass, and none of them again", async () => {
    const deliveries = Array.from({ length: 600 }, (_, index) => ({
      ...exhausted(`odd-${index}`, startMs),
      payload: null,
    }));
    const { pass } = handled(deliveries, () => {});
    expect((await pass()).ids.invalid).toHaveLength(20);
    expect((await pass()).ids.invalid).toEqual([]);
  });

  it("brings in a delivery without a status, as one with a status that nobody knows", async () => {
    const seen: string[] = [];
    const { pass } = handled([{ ...exhausted("event", startMs + 1), status: null }], (id) => seen.push(id));
    expect((await pass()).ledger).toMatchObject({ listed: 1, stored: 1 });
    expect(seen).toEqual(["event"]);
  });
});
