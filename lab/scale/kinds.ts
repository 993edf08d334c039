import type { EsimEvents, InboxEntry, StoredEnding } from "@esim-webhooks/core";
import { entry } from "../../test/inbox-entry.ts";
import type { Maker } from "./table.ts";

/** A kind of rows. The product makes one row of it, and SQL copies that row. */
export interface Kind {
  /** The id of the row that the product makes. */
  readonly id: string;
  /** How many of a thousand rows are of this kind. */
  readonly perThousand: number;
  /** Whether its rows are due later, so that the copies keep the time. */
  readonly isDueLater?: true;
  make(id: string, maker: Maker): Promise<unknown>;
}

/** The type whose rows are in lanes. */
export const laneType = "esim.balance.updated";
/** The type of unhandled rows: a hundredth of all. */
export const rareType = "esim.deleted";
const pausedType = "esim.disabled";
const dayMs = 86_400_000;
const error = "Error: The order service answered 500.";
const report = { reason: "failed", durationMs: 12, error, worker: "measuring" } as const;

/** Most rows are done. The rows of each other kind are as many as an operator would worry about. */
export const kinds: readonly Kind[] = [
  { id: "done", perThousand: 860, make: ended({ state: "done" }) },
  { id: "done_in_lane", perThousand: 40, make: ended({ state: "done" }, laneType) },
  { id: "seen_inline", perThousand: 40, make: seen },
  { id: "unhandled", perThousand: 10, make: ended({ state: "unhandled" }, rareType) },
  { id: "dead", perThousand: 20, make: ended({ state: "dead", error, report }) },
  {
    id: "retry",
    perThousand: 10,
    isDueLater: true,
    make: ended({ state: "retry", afterMs: dayMs, error, report }),
  },
  { id: "due", perThousand: 5, make: (id, { inbox }) => inbox.put([rowOf(id)]) },
  { id: "due_in_lane", perThousand: 5, make: (id, { inbox }) => inbox.put([rowOf(id, laneType)]) },
  { id: "paused", perThousand: 10, make: paused },
];

function rowOf(id: string, type?: keyof EsimEvents): InboxEntry {
  return entry(id, { ...(type && { type }), timestamp: "2026-01-01T00:00:00.000Z", esim: `esim_of_${id}` });
}

function ended(ending: StoredEnding, type?: keyof EsimEvents): Kind["make"] {
  return async (id, { inbox }) => {
    await inbox.put([rowOf(id, type)]);
    const [lease] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    if (lease?.id !== id) throw new Error(`took ${lease?.id}, not ${id}`);
    await inbox.settle([{ source: lease.source, id, token: lease.token, ...ending }]);
  };
}

async function seen(id: string, { store }: Maker): Promise<void> {
  const key = { source: "default", id };
  const claim = await store.claim(key, 60_000, 1);
  if (claim.status !== "claimed") throw new Error(`claimed ${id}: ${claim.status}`);
  await store.complete(key, claim.token);
}

async function paused(id: string, { inbox }: Maker): Promise<void> {
  await inbox.pause({ types: [pausedType], reason: "measuring" });
  await inbox.put([rowOf(id, pausedType)]);
}

/** Makes a row of each kind. */
export async function makeRows(maker: Maker): Promise<void> {
  for (const { id, make } of kinds) await make(id, maker);
}
