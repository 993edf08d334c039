import type { Calls, TypeCounts, TypesView } from "./contract.ts";
import { pauseView, timeOf } from "./rows.ts";
import { select } from "./selection.ts";
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

/** A page has as many events as an inbox reads within some milliseconds. */
const mostOfPage = 1000;

/** A page of the events of a state, the newest first, counted by type. */
export async function typeCounts(
  { inbox }: Settings,
  { state, cursor }: Calls["typeCounts"]["in"],
): Promise<TypeCounts> {
  const { rows, nextCursor } = await select(inbox, { state }, mostOfPage, cursor);
  const groups = Map.groupBy(rows, ({ type }) => type);
  const counts = [...groups].map(([type, ofType]) => ({
    type,
    count: ofType.length,
    lastAt: timeOf(ofType[0]?.receivedAt ?? null),
  }));
  return { counts, nextCursor };
}
