import { reconcile } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { exhausted, handled, startMs } from "./handled.ts";
import { knownInbox, memoryState } from "./memory-state.ts";

const minute = 60_000;
const hour = 60 * minute;

it("keeps what is settled when a pass is interrupted later on", async () => {
  const deliveries = Array.from({ length: 6000 }, (_, index) =>
    made({ id: `event-${index}`, occurredMs: startMs + (6000 - index) * 10_000 }),
  );
  const { api, endpoint } = servedListing(() => deliveries);
  const inbox = knownInbox();
  const options = { state: memoryState(), clock: { now: () => startMs + 24 * hour } };
  const stop = new AbortController();
  const slow: typeof inbox = {
    ...inbox,
    put: async (entries) => {
      const results = await inbox.put(entries);
      if (inbox.ids.size >= 2000) stop.abort();
      return results;
    },
  };
  const stopped = await reconcile(api, endpoint, slow, {
    ...options,
    since: new Date(startMs),
    signal: stop.signal,
  });
  expect(stopped.interrupted).toBe(true);
  expect(Date.parse(stopped.mark)).toBeGreaterThan(startMs + 2 * hour);
  const next = await reconcile(api, endpoint, inbox, options);
  expect(next.pages).toBeLessThan(60);
  expect(inbox.ids.size).toBe(6000);
});

it("remembers 1,000 failing and 1,000 reported events in one state, and tries the other failing ones in every pass", async () => {
  const deliveries = Array.from({ length: 2400 }, (_, index) =>
    exhausted(`bad-${index}`, startMs + hour - index),
  ).map((delivery, index) => (index % 2 === 1 ? { ...delivery, payload: null } : delivery));
  let tries = 0;
  const { reconcilerPass, state } = handled(deliveries, () => {
    tries += 1;
    throw new Error("never");
  });
  expect(await reconcilerPass()).toMatchObject({
    failing: 1000,
    ledger: { rejected: 1200, invalid: 1200 },
  });
  expect(tries).toBe(1200);
  const text = JSON.stringify(await state.only());
  expect(text.length).toBeGreaterThan(45 * 1024);
  expect(text.length).toBeLessThan(64 * 1024 - 3 * 1024); // 50 ignored types fit, too
  await reconcilerPass(minute);
  expect(tries).toBe(1400);
});

it("reports the first 1,000 invalid events, and none of them again", async () => {
  const deliveries = Array.from({ length: 1100 }, (_, index) => ({
    ...exhausted(`odd-${index}`, startMs),
    payload: null,
  }));
  const { pass } = handled(deliveries, () => {});
  expect((await pass()).ids.invalid).toHaveLength(20);
  for (let days = 1; days <= 7; days++) expect((await pass(24 * hour - 1)).ids.invalid).toEqual([]);
});

it("tries an event whose handler fails once an hour on its first day and then once a day, until the service no longer lists it", async () => {
  const triedAt: number[] = [];
  let hours = 0;
  const deliveries = [exhausted("bad", startMs + 5 * hour)];
  const { reconcilerPass, errors, state } = handled(deliveries, () => {
    triedAt.push(hours);
    throw new Error("never");
  });
  await reconcilerPass();
  while (hours < 24 * 8) {
    const step = hours < 24 ? 0.5 : 3;
    hours += step;
    if (hours > 7 * 24 - 1) deliveries.splice(0);
    expect(await reconcilerPass(step * hour)).toMatchObject({
      failing: hours > 7 * 24 ? expect.any(Number) : 1,
    });
  }
  const onFirstDay = triedAt.filter((at) => at < 23);
  expect(onFirstDay).toEqual(Array.from({ length: 23 }, (_, index) => index));
  const later = triedAt.filter((at) => at > 23);
  expect(later.map((at) => Math.floor(at / 24))).toEqual([1, 2, 3, 4, 5, 6]);
  expect(errors.filter((message) => message.startsWith("The handlers of these events failed."))).toHaveLength(
    later.length,
  );
  expect(await state.only()).toMatchObject({ failing: [] });
});
