import type { WebhookDelivery } from "@esim-webhooks/client";
import { silentLogger } from "@esim-webhooks/core/internal";
import {
  observeReconciliations,
  type ReconcileMessage,
  readWatermark,
  reconcile,
} from "@esim-webhooks/endpoint";
import { describe, expect, it, onTestFinished } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const startMs = Date.parse("2026-11-20T00:00:00Z");

/** A hundred events, ten minutes apart, and how many of them a page has. */
const many = (): WebhookDelivery[] =>
  Array.from({ length: 100 }, (_, index) =>
    made({ id: `event-${index}`, occurredMs: startMs + (100 - index) * 10 * minute }),
  );
const pageLength = 10;

function served(deliveries: readonly WebhookDelivery[]) {
  const { api, endpoint, pages } = servedListing(() => deliveries, pageLength);
  const inbox = knownInbox();
  const options = { state: memoryState(), clock: { now: () => startMs + day } };
  const since = new Date(startMs);
  return { api, endpoint, pages, inbox, options, since };
}

describe("the watermark", () => {
  it("bounds how many pages are read", async () => {
    const { api, endpoint, inbox, options, since } = served(many());
    expect(await reconcile(api, endpoint, inbox, { ...options, since })).toMatchObject({ pages: 10 });
    const second = await reconcile(api, endpoint, inbox, options);
    expect(second).toMatchObject({ pages: 3, ledger: { listed: 30, duplicate: 30, stored: 0 } });
    expect(second.mark).toBe(new Date(startMs + 1000 * minute).toISOString());
  });

  it("waits for the oldest event that is coming, which the next pass finds exhausted", async () => {
    const deliveries = many();
    deliveries[70] = made({
      id: "late",
      occurredMs: startMs + 300 * minute,
      status: "failed",
      nextRetryMs: startMs + day,
    });
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const first = await reconcile(api, endpoint, inbox, { ...options, since });
    expect(first).toMatchObject({
      ledger: { coming: 1 },
      mark: new Date(startMs + 300 * minute).toISOString(),
    });
    deliveries[70] = made({ id: "late", occurredMs: startMs + 300 * minute, status: "exhausted" });
    expect((await reconcile(api, endpoint, inbox, options)).recovered).toEqual({
      missed: 1,
      acknowledgedAndLost: 0,
    });
    expect(await reconcile(api, endpoint, inbox, options)).toMatchObject({ pages: 3 });
  });

  it("does not move when a pass fails, or when it is interrupted while it reads", async () => {
    const { api, endpoint, inbox, options, since } = served(many());
    const failing = { ...inbox, put: async () => Promise.reject(new Error("down")) };
    await expect(reconcile(api, endpoint, failing, { ...options, since })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    const stop = new AbortController();
    const stopObserving = observeReconciliations(({ pages }) => pages === 1 && stop.abort());
    onTestFinished(stopObserving);
    const stopped = await reconcile(api, endpoint, inbox, { ...options, signal: stop.signal });
    stopObserving();
    expect(stopped).toMatchObject({
      interrupted: true,
      mark: since.toISOString(),
      ledger: { unsettled: expect.any(Number) },
    });
    const { listed, unsettled } = stopped.ledger;
    expect(unsettled).toBe(listed);
    expect((await reconcile(api, endpoint, inbox, options)).ledger).toMatchObject({
      listed: 100,
      stored: 100,
    });
  });

  it("takes since 7 days ago for as far back as the listing goes, though some time passed since it was written", async () => {
    const { api, endpoint, inbox, options } = served(many());
    const since = new Date(startMs + day - 7 * day - 5 * minute);
    const asked = await reconcile(api, endpoint, inbox, { ...options, since });
    expect(asked.lost).toBeNull();
    const earlier = new Date(since.getTime() - hour);
    const { lost } = await reconcile(api, endpoint, inbox, { ...options, since: earlier });
    expect(lost).toMatchObject({ from: earlier.toISOString() });
  });

  it("takes a quiet endpoint for settled, however old its last event is", async () => {
    const deliveries = [made({ occurredMs: startMs })];
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const at = (ms: number) => ({ ...options, clock: { now: () => ms } });
    await reconcile(api, endpoint, inbox, { ...at(startMs + day), since });
    await reconcile(api, endpoint, inbox, at(startMs + 6 * day));
    deliveries[0] = made({ occurredMs: startMs + 9 * day });
    expect(await reconcile(api, endpoint, inbox, at(startMs + 9 * day))).toMatchObject({ lost: null });
  });

  it("is not moved by an event that says it occurred in the future", async () => {
    const { api, endpoint, inbox, options, since } = served([
      made({ occurredMs: startMs + 365 * day, sentMs: startMs + hour }),
      ...many().slice(99),
    ]);
    const { mark } = await reconcile(api, endpoint, inbox, { ...options, since });
    expect(mark).toBe(new Date(startMs + hour).toISOString());
  });

  it("is the newest attempt of the first page that shows one", async () => {
    const waiting = Array.from({ length: 15 }, (_, index) => ({
      ...made({ occurredMs: startMs + 2000 * minute + index, status: "pending" }),
      sentAt: null,
    }));
    const { api, endpoint, inbox, options, since } = served([...waiting, ...many()]);
    const { mark } = await reconcile(api, endpoint, inbox, { ...options, since });
    expect(mark).toBe(new Date(startMs + 1000 * minute).toISOString());
  });

  it("does not move past what a page of unattempted, old events hides", async () => {
    const refused = made({ id: "refused", occurredMs: startMs + 1001 * minute, status: "exhausted" });
    const old = Array.from({ length: 15 }, () => ({
      ...made({ occurredMs: startMs + minute, status: "pending" }),
      sentAt: null,
    }));
    const fresh = Array.from({ length: 5 }, () => made({ occurredMs: startMs + 1200 * minute }));
    const deliveries = many();
    const { api, endpoint, inbox, options, since } = served(deliveries);
    await reconcile(api, endpoint, inbox, { ...options, since });
    deliveries.unshift(...fresh, ...old, refused);
    await reconcile(api, endpoint, inbox, options);
    expect(inbox.ids.has("refused")).toBe(true);
  });

  it("is left aside by one pass a day, which finds what shows no time near it", async () => {
    const deliveries = many();
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const at = (ms: number) => ({ ...options, clock: { now: () => startMs + day + ms } });
    await reconcile(api, endpoint, inbox, { ...at(0), since });
    const late = startMs + 300 * minute;
    deliveries.splice(70, 0, made({ id: "late", occurredMs: late, status: "exhausted" }));
    expect(await reconcile(api, endpoint, inbox, at(day - 1))).toMatchObject({ pages: 3 });
    expect(await reconcile(api, endpoint, inbox, at(day))).toMatchObject({ pages: 3 }); // the full one is due after it
    expect(inbox.ids.has("late")).toBe(false);
    expect(await reconcile(api, endpoint, inbox, at(day))).toMatchObject({
      pages: 11,
      recovered: { missed: 1 },
      mark: new Date(startMs + 1000 * minute).toISOString(),
    });
    expect(await reconcile(api, endpoint, inbox, at(day + hour))).toMatchObject({ pages: 3 });
  });

  it("is left aside an hour later when such a pass was interrupted; those between recover what is new", async () => {
    const deliveries = many();
    let stop = new AbortController();
    const { api, endpoint } = servedListing((from) => {
      if (from >= 50) stop.abort();
      return deliveries;
    }, pageLength);
    const { inbox, options, since } = served([]);
    await reconcile(api, endpoint, inbox, { ...options, since });
    deliveries.splice(70, 0, made({ id: "late", occurredMs: startMs + 300 * minute, status: "exhausted" }));
    /** A pass of a process that is stopped after five pages. */
    const pass = (ms: number) => {
      stop = new AbortController();
      const clock = { now: () => startMs + 2 * day + ms };
      return reconcile(api, endpoint, inbox, { ...options, clock, signal: stop.signal });
    };
    const ordinary = { interrupted: false, pages: 3 };
    expect(await pass(0)).toMatchObject(ordinary);
    for (let hours = 1; hours <= 3; hours++) {
      expect(await pass(hours * hour)).toMatchObject({ interrupted: true, recovered: { missed: 0 } });
      const sentMs = startMs + (1000 + hours) * minute;
      deliveries.unshift(made({ id: `new-${hours}`, occurredMs: sentMs, status: "exhausted" }));
      expect(await pass(hours * hour + minute)).toMatchObject({ ...ordinary, recovered: { missed: 1 } });
      expect(await pass(hours * hour + hour - 1)).toMatchObject(ordinary);
      expect(await pass(hours * hour + hour)).toMatchObject(ordinary); // then, the full one may be tried again
    }
    expect(await pass(4 * hour)).toMatchObject({ interrupted: true });
    const clock = { now: () => startMs + 2 * day + 5 * hour };
    await reconcile(api, endpoint, inbox, { ...options, clock });
    expect(await reconcile(api, endpoint, inbox, { ...options, clock })).toMatchObject({
      interrupted: false,
      recovered: { missed: 1 },
    });
    expect(inbox.ids).toContain("late");
  });

  it("is left aside once, and within the day, after the clock was set back by a year", async () => {
    const { api, endpoint, inbox, options, since } = served(many());
    const at = (ms: number) => ({ ...options, clock: { now: () => startMs + day + ms } });
    await reconcile(api, endpoint, inbox, { ...at(365 * day), since });
    const pages: number[] = [];
    for (let passes = 0; passes < 4; passes++)
      pages.push((await reconcile(api, endpoint, inbox, at(passes * minute))).pages);
    expect(pages).toEqual([3, 10, 3, 3]);
  });

  it("is read down to once an hour by a reconciler; between, an event that is coming costs no pages", async () => {
    const deliveries = many();
    const late = { id: "late", occurredMs: startMs + 300 * minute };
    deliveries[70] = made({ ...late, status: "failed", nextRetryMs: startMs + day });
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const pass = (ms: number) =>
      onePass(api, endpoint, inbox, { ...options, since, clock: { now: () => startMs + day + ms } });
    const held = { mark: new Date(late.occurredMs) };
    expect(await pass(0)).toMatchObject({ outcome: "complete", pages: 10, ledger: { coming: 1 } });
    expect(await pass(5 * minute)).toMatchObject({ pages: 2, ledger: { listed: 20, coming: 0 } });
    expect(await readWatermark(options.state, endpoint)).toMatchObject(held);
    expect(await pass(hour)).toMatchObject({ pages: 10, ledger: { coming: 1 } });
    expect(await readWatermark(options.state, endpoint)).toMatchObject(held);

    deliveries[70] = made({ ...late, status: "exhausted" });
    expect(await pass(2 * hour - 1)).toMatchObject({ pages: 2, recovered: { missed: 0 } });
    expect(await pass(2 * hour)).toMatchObject({ pages: 10, recovered: { missed: 1 } });
    expect(await pass(3 * hour)).toMatchObject({ pages: 3 });
    deliveries.unshift(made({ occurredMs: startMs + day }));
    expect(await pass(3 * hour + minute)).toMatchObject({ pages: 2 });
    expect(await readWatermark(options.state, endpoint)).toMatchObject({ mark: new Date(startMs + day) });
  });

  it("is not read down to by a reconciler before the service attempts what is coming again", async () => {
    const deliveries = many();
    const firstMs = startMs + 17 * hour;
    const coming = (hours: number) =>
      made({
        id: "late",
        occurredMs: startMs + 300 * minute,
        status: "failed",
        nextRetryMs: firstMs + hours * hour,
      });
    deliveries[70] = coming(8);
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const pagesAfter = async (hours: number) => {
      const clock = { now: () => firstMs + hours * hour };
      return (await onePass(api, endpoint, inbox, { ...options, since, clock })).pages;
    };
    const [toTheWatermark, recent] = [10, 2];
    expect(await pagesAfter(0)).toBe(toTheWatermark);
    expect(await pagesAfter(1)).toBe(toTheWatermark);
    expect(await pagesAfter(7.9)).toBe(recent);
    expect(await pagesAfter(8)).toBe(toTheWatermark);
    deliveries[70] = coming(18);
    expect(await pagesAfter(9)).toBe(toTheWatermark);
    deliveries.unshift(made({ occurredMs: firstMs, status: "sending" }));
    expect(await pagesAfter(10)).toBe(recent); // has seen one whose next attempt is not known
    expect(await pagesAfter(10.1)).toBe(toTheWatermark);
  });

  it("moves back for an event that is coming and shows an earlier time, also between the deep passes", async () => {
    const deliveries = many();
    const coming = (id: string, minutes: number) =>
      made({ id, occurredMs: startMs + minutes * minute, status: "failed", nextRetryMs: startMs + day });
    deliveries[70] = coming("one", 300);
    const { api, endpoint, inbox, options, since } = served(deliveries);
    await reconcile(api, endpoint, inbox, { ...options, since });
    deliveries.unshift(coming("other", 200));
    await onePass(api, endpoint, inbox, options);
    expect(await readWatermark(options.state, endpoint)).toMatchObject({
      mark: new Date(startMs + 200 * minute),
    });
  });

  it("is read down to by every pass that somebody asks for", async () => {
    const deliveries = many();
    deliveries[70] = made({
      occurredMs: startMs + 300 * minute,
      status: "failed",
      nextRetryMs: startMs + day,
    });
    const { api, endpoint, inbox, options, since } = served(deliveries);
    await reconcile(api, endpoint, inbox, { ...options, since });
    expect(await reconcile(api, endpoint, inbox, options)).toMatchObject({
      pages: 10,
      ledger: { coming: 1 },
    });
  });

  it("is never later than our own clock, so an attempt in the future hides nothing", async () => {
    const future = made({ id: "future", occurredMs: startMs, sentMs: startMs + 400 * day });
    const deliveries = [future, ...many()];
    const { api, endpoint, inbox, options, since } = served(deliveries);
    const at = (ms: number) => ({ ...options, clock: { now: () => startMs + ms } });
    const first = await reconcile(api, endpoint, inbox, { ...at(day), since });
    expect(first).toMatchObject({ mark: new Date(startMs + day).toISOString(), lost: null });
    const missed = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        made({ occurredMs: startMs + day + hour - index, status: "exhausted" }),
      );
    deliveries.splice(1, 0, ...missed(15));
    const second = await reconcile(api, endpoint, inbox, at(day + 2 * hour));
    expect(second).toMatchObject({ recovered: { missed: 15 }, lost: null });
    expect(await readWatermark(options.state, endpoint)).toMatchObject({
      settledTo: new Date(startMs + day + 2 * hour),
    });
  });

  it("takes no event for lost because the only listed delivery shows a time in the year 9999", async () => {
    const farMs = Date.parse("9999-12-31T00:00:00Z");
    const { api, endpoint, inbox, options, since } = served([made({ occurredMs: farMs, sentMs: farMs })]);
    expect(await reconcile(api, endpoint, inbox, { ...options, since })).toMatchObject({ lost: null });
    const clock = { now: () => startMs + 10 * day };
    expect(await reconcile(api, endpoint, inbox, { ...options, clock })).toMatchObject({
      lost: { to: new Date(startMs + 3 * day).toISOString() },
    });
  });

  it("stays at since until there is something newer, and no page below that is read", async () => {
    const { api, endpoint, inbox, options } = served(many());
    const since = new Date(startMs + 550 * minute);
    expect(await reconcile(api, endpoint, inbox, { ...options, since })).toMatchObject({
      pages: 6,
      ledger: { outOfRange: 14 },
    });
  });

  it("tells nothing for lost, and settles nothing, in a pass that is interrupted", async () => {
    const { api, endpoint, inbox, options } = served([made({ occurredMs: startMs })]);
    const since = new Date(startMs - 30 * day);
    const stop = new AbortController();
    onTestFinished(observeReconciliations(({ pages }) => pages === 1 && stop.abort()));
    expect(await reconcile(api, endpoint, inbox, { ...options, since, signal: stop.signal })).toMatchObject({
      interrupted: true,
      lost: null,
    });
    expect(await readWatermark(options.state, endpoint)).toMatchObject({ mark: since, settledTo: since });
  });

  it("refuses a state that is not its own", async () => {
    const { api, endpoint, inbox, options, since } = served([]);
    const state = { ...options.state, read: async () => ({ value: { other: true }, version: "1" }) };
    await expect(reconcile(api, endpoint, inbox, { ...options, state, since })).rejects.toMatchObject({
      code: "invalid_state",
    });
  });
});

it("tells observers of the progress and the end of each pass, without payloads", async () => {
  const messages: ReconcileMessage[] = [];
  onTestFinished(observeReconciliations((message) => void messages.push(message)));
  const { api, endpoint, inbox, options, since } = served(many());
  const report = await reconcile(api, endpoint, inbox, { ...options, since, logger: silentLogger });
  const { run, ledger, recovered, pages } = report;
  const unknown = { lost: null, supportReplay: null };
  expect(messages[0]).toMatchObject({ run, endpoint, source: "default", outcome: "running", ...unknown });
  expect(messages.length).toBeGreaterThan(2);
  expect(messages.length).toBeLessThanOrEqual(3 + (messages.at(-1)?.durationMs ?? 0) / 100); // ten a second at most
  expect(messages.at(-1)).toMatchObject({
    run,
    outcome: "complete",
    ledger,
    recovered,
    pages,
    dryRun: false,
  });
  expect(JSON.stringify(messages)).not.toContain("payload");
  const failing = { ...inbox, put: async () => Promise.reject(new Error("down")) };
  await expect(reconcile(api, endpoint, failing, options)).rejects.toThrow();
  expect(messages.at(-1)).toMatchObject({ outcome: "failed", error: { code: "store_unavailable" } });
  await reconcile(api, endpoint, inbox, { ...options, signal: AbortSignal.abort() });
  expect(messages.at(-1)).toMatchObject({ outcome: "interrupted" });
});

it("tells observers that a pass is a dry run", async () => {
  const messages: ReconcileMessage[] = [];
  onTestFinished(observeReconciliations((message) => void messages.push(message)));
  const { api, endpoint, inbox, options, since } = served(many());
  await reconcile(api, endpoint, inbox, { ...options, since, logger: silentLogger, dryRun: true });
  expect(messages.length).toBeGreaterThan(0);
  for (const message of messages) expect(message).toMatchObject({ dryRun: true });
});
