import { describe, expect, it } from "vitest";
import type { Step } from "../script-service.ts";
import { scriptedClient } from "../scripted-client.ts";

const endpoint = (reference: string) => ({
  webhookEndpointReference: reference,
  url: "https://receiver.test",
  eventTypes: ["esim.retired"],
  description: null,
  active: true,
  createdAt: "2026-11-20T09:00:00Z",
  updatedAt: "2026-11-20T09:00:00Z",
});

function page(references: string, nextCursor: string | null, hasMore = nextCursor !== null): Step {
  const pagination = { limit: 2, hasMore, nextCursor };
  return { answer: 200, body: JSON.stringify({ data: [...references].map(endpoint), pagination }) };
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const three = [page("ab", "cursor 1"), page("cd", "cursor 2"), page("e", null)];
const queryOf = (url: string | undefined) => new URL(url ?? "").search;

describe("a list", () => {
  it("gives every item, and fetches a page when it is needed", async () => {
    const { api, clock, service } = scriptedClient(three);
    const seen: string[] = [];
    await clock.run(
      (async () => {
        for await (const { webhookEndpointReference } of api.webhooks.list({ limit: 2 })) {
          seen.push(webhookEndpointReference);
          if (seen.length === 2) expect(service.seen).toHaveLength(1);
        }
      })(),
    );
    expect(seen).toEqual(["a", "b", "c", "d", "e"]);
    expect(service.seen.map(({ url }) => queryOf(url))).toEqual([
      "?limit=2",
      "?limit=2&cursor=cursor+1",
      "?limit=2&cursor=cursor+2",
    ]);
  });

  it("sends nothing before a page is asked for", () => {
    const { api, service } = scriptedClient();
    api.webhooks.list();
    expect(service.tokens).toBe(0);
  });

  it("has a first page, with a cursor that can be kept and continued", async () => {
    const { api, clock, service } = scriptedClient(three);
    const { data, pagination } = await clock.run(api.webhooks.list().page());
    expect(data).toEqual([endpoint("a"), endpoint("b")]);
    expect(pagination).toEqual({ limit: 2, hasMore: true, nextCursor: "cursor 1" });
    const kept = JSON.parse(JSON.stringify(pagination.nextCursor)) as string;
    const rest = await clock.run(allOf(api.webhooks.list({ cursor: kept })));
    expect(rest).toHaveLength(3);
    expect(queryOf(service.seen[1]?.url)).toBe("?cursor=cursor+1");
  });

  it("has its pages, each with its cursor", async () => {
    const { api, clock } = scriptedClient(three);
    const pages = await clock.run(allOf(api.webhooks.list().pages()));
    expect(pages.map(({ pagination }) => pagination.nextCursor)).toEqual(["cursor 1", "cursor 2", null]);
  });

  it("that says there is more, and not where, is an error and no end", async () => {
    for (const script of [
      [page("a", null, true)],
      [page("a", "same"), page("b", "same")],
      [page("a", "1"), page("b", "2"), page("c", "1")],
    ]) {
      const { api, clock } = scriptedClient(script);
      await expect(clock.run(allOf(api.webhooks.list()))).rejects.toMatchObject({
        code: "unexpected_answer",
      });
    }
  });

  it("of deliveries is read when fields that may be null are missing, and others are new", async () => {
    const delivery = {
      eventType: "t",
      eventId: "1",
      payload: {},
      status: "parked",
      attemptNumber: 1,
      newField: [],
    };
    const body = JSON.stringify({ data: [delivery], pagination: { limit: 20, hasMore: false } });
    const { api, clock } = scriptedClient([{ answer: 200, body }]);
    const { data, pagination } = await clock.run(api.webhooks.deliveries("w").page());
    const missing = {
      responseBody: null,
      httpStatus: null,
      nextRetryAt: null,
      sentAt: null,
      deliveredAt: null,
    };
    expect(data).toEqual([{ ...delivery, ...missing }]);
    expect(pagination.nextCursor).toBeNull();
  });

  it("of deliveries is read although a record is odd, without an id or a status", async () => {
    const odd = {
      eventType: 7,
      eventId: "1",
      payload: null,
      status: "exhausted",
      attemptNumber: "ten",
      httpStatus: "503",
    };
    const body = JSON.stringify({ data: [odd, {}], pagination: { limit: 20, hasMore: false } });
    const { api, clock } = scriptedClient([{ answer: 200, body }]);
    const { data } = await clock.run(api.webhooks.deliveries("w").page());
    expect(data).toMatchObject([
      {
        eventId: "1",
        status: "exhausted",
        eventType: null,
        payload: null,
        attemptNumber: null,
        httpStatus: null,
      },
      { eventId: null, status: null, payload: null },
    ]);
  });

  it("refuses options that are none, and a reference that is no text", async () => {
    const { api, service } = scriptedClient();
    expect(() => api.webhooks.list(null as never)).toThrow(
      expect.objectContaining({ code: "invalid_request" }),
    );
    expect(() => api.webhooks.deliveries("\ud800")).toThrow(
      expect.objectContaining({ code: "invalid_request" }),
    );
    await expect(api.webhooks.delete("\ud800")).rejects.toMatchObject({ code: "invalid_request" });
    expect(service.tokens).toBe(0);
  });

  it("begins anew each time it is iterated", async () => {
    const { api, clock, service } = scriptedClient([page("a", null), page("a", null)]);
    const list = api.webhooks.list();
    await clock.run(allOf(list));
    await clock.run(allOf(list));
    expect(service.seen).toHaveLength(2);
  });
});
