import type { EsimEvents, InboxEntry, InboxRow } from "@esim-webhooks/core";
import { eventHeldBack, heldBackOf } from "@esim-webhooks/core/internal";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";

const startMs = Date.parse("2026-11-20T10:00:00Z");

/** The data of `free` has no eSIM, and so no lane. */
function entryAt(id: string, second: number, esimReference?: string, type?: keyof EsimEvents): InboxEntry {
  const receivedAt = new Date(startMs + second * 1000);
  return {
    ...entry(id, { ...(type && { type }), receivedAt, data: { esimReference } }),
    key: "key:1a2b3c4d",
  };
}

it("a ready event is blocked by the head of its lane, paused by its type, and else not held back", async () => {
  const inbox = memoryInbox({ lane: ({ data }) => data.esimReference });
  await inbox.put([entryAt("failing", 0, "a")]);
  const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  if (lease !== undefined)
    await inbox.settle([{ ...lease, state: "retry", afterMs: 3_600_000, error: "no" }]);
  await inbox.put([
    entryAt("behind_1", 1, "a"),
    entryAt("behind_2", 2, "a"),
    entryAt("head", 3, "b"),
    entryAt("behind_head", 4, "b"),
    entryAt("free", 5),
    entryAt("of_paused_type", 6, "b", "esim.faulted"),
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
