import type { InboxState } from "@esim-webhooks/core";
import type { TypeCounts, TypesView } from "./contract.ts";
import { countOf } from "./events.ts";
import { pauseView, timeOf } from "./rows.ts";
import { selectAll } from "./selection.ts";
import type { Settings } from "./settings.ts";

/** The types that can be paused: those of the catalog, and those that are paused. */
export async function types({ inbox, catalog }: Settings): Promise<TypesView> {
  const pauses = (await inbox.paused()).map(pauseView);
  const pauseOf = (type: string | null) => pauses.find((each) => each.type === type) ?? null;
  const names = new Set([...pauses.flatMap(({ type }) => type ?? []), ...catalog.types]);
  return {
    allPaused: pauseOf(null),
    types: [...names].map((type) => ({ type, pause: pauseOf(type) })),
  };
}

const mostCounted = 10_000;
const mostOfPage = 1000;
const longestMs = 60;

/** The events of a state by type, counted from the newest on. It ends where the gauges say that there are no more. */
export async function typeCounts(
  { inbox }: Settings,
  { state }: { readonly state: InboxState },
): Promise<TypeCounts> {
  const all = state === "done" ? null : countOf(await inbox.gauges(), state);
  const most = all === null || all.isMore ? mostCounted : all.count;
  const endAt = performance.now() + longestMs;
  const groups = new Map<string | null, { count: number; lastAt: Date | null }>();
  let found = 0;
  let isMore = false;
  if (most === 0) return { counts: [], isMore };
  for await (const { rows, nextCursor } of selectAll(inbox, { state }, mostOfPage)) {
    for (const { type, receivedAt } of rows) {
      const group = groups.get(type) ?? { count: 0, lastAt: receivedAt };
      group.count += 1;
      groups.set(type, group);
    }
    found += rows.length;
    isMore = nextCursor !== null && (all === null || all.isMore || found < all.count);
    if (!isMore || found >= most || performance.now() > endAt) break;
  }
  const counts = [...groups].map(([type, { count, lastAt }]) => ({ type, count, lastAt: timeOf(lastAt) }));
  return { counts, isMore };
}
