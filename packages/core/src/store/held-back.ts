import type { InboxAdmin } from "./inbox-admin.ts";
import type { Pause } from "./pause.ts";
import type { InboxRow, StoredEvent } from "./stored-event.ts";

/** Why no worker can take a ready event: its type is paused, or it is due, but another event holds its lane. */
export type HeldBack = "paused" | "blocked";

const concurrentReads = 50;

/**
 * Returns the rows that are held back, and why. Reads one due event of each lane: the lane is held by that event, or by its `heldBy`.
 * `now` is in ms since the Unix epoch.
 */
export async function heldBackOf(
  inbox: Pick<InboxAdmin, "get">,
  rows: readonly InboxRow[],
  { now, pauses }: { readonly now: number; readonly pauses: readonly Pause[] },
): Promise<ReadonlyMap<InboxRow, HeldBack>> {
  const held = new Map<InboxRow, HeldBack>();
  const lanes = new Map<string, InboxRow[]>();
  for (const row of rows) {
    if (row.state !== "ready") continue;
    if (isPaused(row, pauses)) held.set(row, "paused");
    else if (row.lane !== null && (row.dueAt?.getTime() ?? now) <= now)
      lanes.set(row.lane, [...(lanes.get(row.lane) ?? []), row]);
  }
  const groups = [...lanes.values()];
  for (let start = 0; start < groups.length; start += concurrentReads) {
    const batch = groups.slice(start, start + concurrentReads);
    const events = await Promise.all(batch.map(([first]) => first && inbox.get(first)));
    for (const [index, event] of events.entries()) {
      if (event === undefined) continue; // it was deleted since
      const { source, id } = event.heldBy ?? event;
      const others = batch[index]?.filter((row) => row.id !== id || row.source !== source) ?? [];
      for (const row of others) held.set(row, "blocked");
    }
  }
  return held;
}

/** Returns why an event is held back; null if it is not. */
export function eventHeldBack(
  event: StoredEvent,
  { now, pauses }: { readonly now: number; readonly pauses: readonly Pause[] },
): HeldBack | null {
  if (event.state !== "ready") return null;
  if (isPaused(event, pauses)) return "paused";
  return event.heldBy !== null && (event.dueAt?.getTime() ?? now) <= now ? "blocked" : null;
}

function isPaused(row: InboxRow, pauses: readonly Pause[]): boolean {
  return pauses.some(({ type }) => type === null || type === row.type);
}
