import { Readable } from "node:stream";
import { createClient, type WebhookDelivery } from "@esim-webhooks/client";
import {
  type DeliveriesPage,
  listEndpoints,
  type ReadDeliveriesOptions,
  readDeliveries,
} from "@esim-webhooks/endpoint";
import { startSandbox } from "@esim-webhooks/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { made, servedListing } from "./served-listing.ts";

async function pagesOf(
  deliveries: readonly WebhookDelivery[],
  options?: ReadDeliveriesOptions,
): Promise<DeliveriesPage[]> {
  const { api, endpoint } = servedListing(() => deliveries);
  return Readable.from(readDeliveries(api, endpoint, options)).toArray();
}

const minute = 60_000;
const now = Date.parse("2026-11-22T12:00:00Z");
const aMinuteApart = (count: number) =>
  Array.from({ length: count }, (_, index) => made({ occurredMs: now - index * minute }));

it("reads the listing to its end, a hundred a page, and says that it ended there", async () => {
  const pages = await pagesOf(aMinuteApart(250));
  expect(pages.map(({ deliveries, end }) => [deliveries.length, end])).toEqual([
    [100, undefined],
    [100, undefined],
    [50, "listing"],
  ]);
});

it("ends after the first page whose deliveries are all older, and says so", async () => {
  const pages = await pagesOf(aMinuteApart(1000), { until: new Date(now - 150.5 * minute) });
  expect(pages.map(({ end }) => end)).toEqual([undefined, undefined, "older"]);
});

it("continues while one delivery of a page was sent lately, at any age of its event", async () => {
  const deliveries = aMinuteApart(1000);
  deliveries[250] = made({ occurredMs: now - 250 * minute, sentMs: now, status: "exhausted" });
  expect(await pagesOf(deliveries, { until: new Date(now - 150.5 * minute) })).toHaveLength(4);
});

it("counts the acknowledgement, too, which may be the newest time or the only one", async () => {
  const deliveries = aMinuteApart(1000);
  const acknowledged = made({ occurredMs: now - 250 * minute, sentMs: now });
  deliveries[250] = { ...acknowledged, sentAt: new Date(now - 250 * minute).toISOString() };
  expect(await pagesOf(deliveries, { until: new Date(now - 150.5 * minute) })).toHaveLength(4);
});

it("continues after a page of deliveries that were not attempted yet, at any age of their events", async () => {
  const waiting = Array.from({ length: 100 }, () => ({
    ...made({ occurredMs: now - 500 * minute, status: "pending" }),
    sentAt: null,
  }));
  const pages = await pagesOf([...waiting, ...aMinuteApart(300)], { until: new Date(now - 50.5 * minute) });
  expect(pages.map(({ end }) => end)).toEqual([undefined, undefined, "older"]);
});

it("ends with an error that says so when the cursors of the listing never end", async () => {
  async function* endless() {
    for (let cursor = 1; ; cursor += 1)
      yield { data: [], pagination: { limit: 100, hasMore: true, nextCursor: String(cursor) } };
  }
  const api = { webhooks: { deliveries: () => ({ pages: endless }) } } as never;
  let pages = 0;
  const reading = async () => {
    for await (const _ of readDeliveries(api, "endpoint-1")) if (++pages > 200_000) break;
  };
  await expect(reading()).rejects.toMatchObject({
    code: "unexpected_answer",
    message: expect.stringContaining("the listing of the endpoint endpoint-1 has more than 100,000 pages"),
  });
});

it("never takes a delivery that shows no time for older", async () => {
  const deliveries = aMinuteApart(300).map((delivery) => ({
    ...delivery,
    payload: null,
    sentAt: "soon",
    deliveredAt: null,
  }));
  const pages = await pagesOf(deliveries, { until: new Date(now) });
  expect(pages.at(-1)).toMatchObject({ end: "listing" });
  expect(pages).toHaveLength(3);
});

it("says that an empty listing ended", async () => {
  expect(await pagesOf([], { until: new Date(now) })).toEqual([{ deliveries: [], end: "listing" }]);
});

it("rejects when its signal aborts", async () => {
  await expect(pagesOf(aMinuteApart(1), { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "aborted",
  });
});

it("reads the listing of the sandbox", async () => {
  const sandbox = await startSandbox({ clock: "manual" });
  onTestFinished(() => sandbox.close());
  const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
  const { webhookEndpointReference } = await api.webhooks.create({
    url: "https://receiver.invalid/webhooks",
    eventTypes: ["esim.assigned"],
  });
  await sandbox.orderEsim();
  await sandbox.settled();
  const [page, ...rest] = await Readable.from(readDeliveries(api, webhookEndpointReference)).toArray();
  expect(rest).toEqual([]);
  expect(page).toMatchObject({ end: "listing", deliveries: [{ eventType: "esim.assigned" }] });
});

it("refuses a first argument that is no client, as the list of endpoints does", async () => {
  const refusal = { code: "invalid_option", problem: "the first argument is not a client." };
  const reading = readDeliveries({} as never, "endpoint-1");
  await expect(reading.next()).rejects.toMatchObject({ ...refusal, where: "readDeliveries" });
  await expect(listEndpoints(undefined as never)).rejects.toMatchObject({
    ...refusal,
    where: "listEndpoints",
  });
});
