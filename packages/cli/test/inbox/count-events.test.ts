import type { Inbox, InboxFilter, InboxRow, InboxStats } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { countDead, countPastRetention } from "../../src/inbox/count-events.ts";

const now = Date.now();

/** An inbox of so many events in a state, every second one past its retention, of two types in turn. */
function inboxOf(state: "done" | "dead", events: number) {
  let pages = 0;
  const row = (n: number) => ({ state, endsAt: new Date(now + (n % 2 ? 1000 : -1000)) }) as InboxRow;
  const stats: InboxStats = {
    states: { ready: 0, leased: 0, done: 0, dead: 0, [state]: events },
    types: [
      { state, type: "esim.enabled", count: Math.ceil(events / 2) },
      { state, type: "esim.faulted", count: Math.floor(events / 2) },
      { state: "ready", type: "esim.faulted", count: 5 },
    ],
    oldestReadyMs: null,
    conflicts: 0,
  };
  const list = async (_filter?: InboxFilter, page: { limit?: number; cursor?: string } = {}) => {
    pages += 1;
    const from = Number(page.cursor ?? 0);
    const to = Math.min(events, from + (page.limit ?? 50));
    const rows = Array.from({ length: to - from }, (_, n) => row(from + n));
    return { rows, nextCursor: to < events ? String(to) : null };
  };
  return { inbox: { stats: async () => stats, list } as unknown as Inbox, pages: () => pages };
}

describe("countDead", () => {
  it("reads no event where the counts by type tell", async () => {
    const { inbox, pages } = inboxOf("dead", 1001);
    expect(await countDead(inbox, {}, 5000)).toEqual({ events: 1001 });
    expect(await countDead(inbox, { types: ["esim.faulted"] }, 5000)).toEqual({ events: 500 });
    expect(pages()).toBe(0);
  });

  it("pages through the events that any other filter means, no further than the limit", async () => {
    const { inbox, pages } = inboxOf("dead", 1001);
    expect(await countDead(inbox, { since: new Date() }, 5000)).toEqual({ events: 1001 });
    expect(pages()).toBe(6);
    expect(await countDead(inbox, { since: new Date() }, 100)).toEqual({ events: 100 });
    expect(pages()).toBe(7);
  });
});

describe("countPastRetention", () => {
  it("looks at each done event, as long as they are not too many", async () => {
    expect(await countPastRetention(inboxOf("done", 1001).inbox, 5000, now)).toEqual({ events: 501 });
  });

  it("says how many there are at most where looking at each would take long", async () => {
    const { inbox, pages } = inboxOf("done", 1_000_000);
    expect(await countPastRetention(inbox, 1000, now)).toEqual({ events: 1000, atMost: true });
    expect(pages()).toBe(0);
  });
});
