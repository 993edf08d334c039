import { createLimiter } from "@esim-webhooks/client";
import { reconcile } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { knownInbox, memoryState } from "./memory-state.ts";

const startMs = Date.now() - 3_600_000;

it("lets the calls of handlers go before the next page of the listing", async () => {
  let places = 2; // for the list of endpoints and a page of deliveries
  const place = { answered() {} };
  const budget = { take: () => (places > 0 ? { ...place, left: --places } : { waitMs: 5 }) };
  const limiter = createLimiter({ budget });
  const deliveries = Array.from({ length: 300 }, (_, index) => made({ occurredMs: startMs - index }));
  const { api, endpoint, calls } = servedListing(() => deliveries, 100, limiter);
  const pass = reconcile(api, endpoint, knownInbox(), { state: memoryState(), since: new Date(0) });
  await expect.poll(() => [calls.length, limiter.state().waiting]).toEqual([1, 1]);
  const order = api.esims.order({});
  await expect.poll(() => limiter.state().waiting).toBe(2);
  places = Number.POSITIVE_INFINITY;
  await Promise.all([pass, order]);
  expect(calls.slice(0, 3)).toEqual(["GET", "POST", "GET"]);
});
