import type { WebhookDelivery } from "@esim-webhooks/client";
import { describe, expect, it } from "vitest";
import { type MadeDelivery, made, servedListing } from "../../../endpoint/test/served-listing.ts";
import { createEventFeed } from "../../src/listen/event-feed.ts";

const minute = 60_000;
/** The service's clock, which is not ours. */
const noon = Date.parse("2031-01-01T12:00:00Z");

/** A feed of a listing that the test changes, newest first. */
function feedOf(deliveries: WebhookDelivery[], since?: Date) {
  let ms = 0;
  const served = servedListing(() => deliveries);
  const feed = createEventFeed(served.api, served.endpoint, { since, now: () => ms });
  return {
    pages: served.pages,
    /** The ids of a read that begins this much later. */
    async read(laterMs = 0) {
      ms += laterMs;
      return (await feed.read(new AbortController().signal)).map(({ eventId }) => eventId);
    },
  };
}

function at(id: string, minutes: number, more: Partial<MadeDelivery> = {}): WebhookDelivery {
  return made({ id, occurredMs: noon + minutes * minute, ...more });
}

const many = (count: number, minutes: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => at(`old-${index}`, minutes(index)));

describe("the feed of events", () => {
  it("gives only what came after its first read, each event once, oldest first", async () => {
    const listing = [at("before", 0)];
    const { read } = feedOf(listing);
    expect(await read()).toEqual([]);
    listing.unshift(at("second", 2), at("first", 1));
    expect(await read()).toEqual(["first", "second"]);
    expect(await read()).toEqual([]);
    listing.unshift(at("third", 3));
    expect(await read(60_000)).toEqual(["third"]);
  });

  it("gives everything that comes into a listing that was empty", async () => {
    const listing: WebhookDelivery[] = [];
    const { read } = feedOf(listing);
    expect(await read()).toEqual([]);
    listing.push(at("first", -600));
    expect(await read()).toEqual(["first"]);
  });

  it("begins with the events since a time, over all pages, and sorts by when they occurred", async () => {
    const listing = [at("late", -250), ...many(350, (index) => -index)];
    const { read } = feedOf(listing, new Date(noon - 249.5 * minute));
    const ids = await read();
    expect(ids).toHaveLength(250);
    expect(ids.slice(0, 2)).toEqual(["old-249", "old-248"]);
  });

  it("leaves out an event from before the start that a retry brings to the top", async () => {
    const listing = many(300, (index) => -index);
    const { read } = feedOf(listing);
    await read();
    const [retried] = listing.splice(299, 1) as [WebhookDelivery];
    const sentAt = new Date(noon + minute).toISOString();
    listing.unshift({ ...retried, sentAt, attemptNumber: 4 });
    expect(await read()).toEqual([]);
  });

  it("gives an event that occurred long before its first delivery", async () => {
    const listing = [at("before", 0)];
    const { read } = feedOf(listing);
    await read();
    listing.unshift(at("delayed", -300, { sentMs: noon + minute }));
    expect(await read()).toEqual(["delayed"]);
  });

  it("reads one page a read while nothing is new, however long the listing is", async () => {
    const { read, pages } = feedOf(many(1000, () => 0));
    await read();
    const before = pages();
    await read(2000);
    await read(2000);
    expect(pages() - before).toBe(2);
  });

  it("finds an event that the listing shows late, below a page of known ones", async () => {
    const listing = many(150, (index) => -index / 100);
    const { read } = feedOf(listing);
    await read();
    listing.unshift(...Array.from({ length: 120 }, (_, index) => at(`new-${index}`, 1)));
    expect(await read(2000)).toHaveLength(120);
    listing.splice(120, 0, at("shown late", 0.5));
    expect(await read(2000)).toEqual([]);
    expect(await read(30_000)).toEqual(["shown late"]);
  });

  it("gives what a read that failed would have given", async () => {
    const listing = [at("before", 0)];
    const { read } = feedOf(listing);
    await read();
    listing.unshift(...Array.from({ length: 250 }, (_, index) => at(`new-${index}`, 1)));
    const [third] = listing.splice(249, 1, "no record" as never); // the page cannot be read
    await expect(read()).rejects.toMatchObject({ code: "unexpected_answer" });
    listing[249] = third as WebhookDelivery;
    expect(await read()).toHaveLength(250);
  });

  it("gives new events after one that is dated far in the future", async () => {
    const future = at("from the future", 300 * 24 * 60, { sentMs: noon - minute });
    const listing = [future, at("before", -2)];
    const { read } = feedOf(listing);
    expect(await read()).toEqual([]);
    listing.unshift(at("first", 1));
    expect(await read()).toEqual(["first"]);
    listing.unshift(
      at("second", 2),
      at("also from the future", 300 * 24 * 60, { sentMs: noon + 2 * minute }),
    );
    expect(await read(60_000)).toEqual(["second", "also from the future"]);
    listing.unshift(at("third", 3));
    expect(await read(60_000)).toEqual(["third"]);
  });

  it("gives new events after a first read that showed no attempt", async () => {
    const listing: WebhookDelivery[] = [{ ...at("waiting", 300 * 24 * 60), sentAt: null, deliveredAt: null }];
    const { read } = feedOf(listing);
    expect(await read()).toEqual([]);
    listing.unshift(at("first", 1));
    expect(await read(60_000)).toEqual(["first"]);
  });

  it("gives an event that shows no time, and one that shows no body", async () => {
    const listing: WebhookDelivery[] = [at("before", 0)];
    const { read } = feedOf(listing);
    await read();
    listing.unshift({ ...at("bare", 1), payload: null, sentAt: null, deliveredAt: null });
    expect(await read()).toEqual(["bare"]);
  });

  it("skips nothing when entries move down between two pages", async () => {
    const listing = [at("before", 0)];
    let asked = 0;
    const served = servedListing(() => {
      asked += 1;
      if (asked === 3) listing.unshift(...Array.from({ length: 100 }, (_, index) => at(`live-${index}`, 2)));
      return listing;
    });
    const feed = createEventFeed(served.api, served.endpoint);
    const { signal } = new AbortController();
    await feed.read(signal);
    listing.unshift(...Array.from({ length: 250 }, (_, index) => at(`new-${index}`, 1)));
    const ids = [...(await feed.read(signal)), ...(await feed.read(signal))].map(({ eventId }) => eventId);
    expect(ids).toHaveLength(350);
    expect(new Set(ids).size).toBe(350);
  });

  it("gives a delivery without an id once, and those beside it", async () => {
    const listing = [at("before", 0)];
    const { read } = feedOf(listing);
    await read();
    listing.unshift(at("first", 2), { ...at("", 1), eventId: null });
    expect(await read()).toEqual([null, "first"]);
    expect(await read(60_000)).toEqual([]);
  });
});
