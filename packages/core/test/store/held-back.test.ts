import type { InboxEntry, InboxRow } from "@esim-webhooks/core";
import { eventHeldBack, heldBackOf } from "@esim-webhooks/core/internal";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";

const startMs = Date.parse("2026-11-20T10:00:00Z");

function entry(id: string, second: number, esimReference?: string, type = "esim.enabled"): InboxEntry {
  const receivedAt = new Date(startMs + second * 1000);
  const event = { id, type, timestamp: receivedAt.toISOString(), data: { esimReference } };
  return {
    source: "default",
    id,
    type,
    event,
    body: Buffer.from(JSON.stringify(event)),
    receivedAt,
    key: "key:1a2b3c4d",
  };
}

it("a ready event is blocked by the head of its lane, paused by its type, and else not held back", async () => {
  const inbox = memoryInbox({ lane: ({ data }) => data.esimReference });
  await inbox.put([entry("failing", 0, "a")]);
  const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (lease !== undefined)
    await inbox.settle([{ ...lease, state: "retry", afterMs: 3_600_000, error: "no" }]);
  await inbox.put([
    entry("behind_1", 1, "a"),
    entry("behind_2", 2, "a"),
    entry("head", 3, "b"),
    entry("behind_head", 4, "b"),
    entry("free", 5),
    entry("of_paused_type", 6, "b", "esim.faulted"),
  ]);
  await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down", catalog: { types: ["esim.faulted"] } });
  const { rows } = await inbox.list();
  const now = Date.now();
  const pauses = await inbox.paused();
  const held = await heldBackOf(inbox, rows, { now, pauses });
  const markOf = (row: InboxRow) => held.get(row) ?? null;
  expect(Object.fromEntries(rows.map((row) => [row.id, markOf(row)]))).toEqual({
    failing: null, // it waits for its next attempt
    behind_1: "blocked",
    behind_2: "blocked",
    head: null,
    behind_head: "blocked",
    free: null,
    of_paused_type: "paused",
  });
  for (const row of rows) {
    const event = await inbox.get(row);
    if (event !== undefined) expect(eventHeldBack(event, { now, pauses }), row.id).toBe(markOf(row));
  }
  await inbox.close();
});
