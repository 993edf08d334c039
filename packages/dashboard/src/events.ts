import type { GaugeCount, InboxAdmin, InboxGauges, StoredEvent } from "@esim-webhooks/core";
import {
  causeOf,
  eventHeldBack,
  heldBackOf,
  maskLane,
  storeTimeMs,
  whyItWaits,
} from "@esim-webhooks/core/internal";
import { maskText } from "@esim-webhooks/core/masking";
import type { Counted, Filter } from "./contract.ts";
import { refused } from "./failure.ts";
import { inboxFilter } from "./filter.ts";
import { maskedPayload } from "./payload.ts";
import { eventRow, isSame, nameOf, timeOf } from "./rows.ts";
import { selectAll, selectSome } from "./selection.ts";
import type { Settings } from "./settings.ts";
import type { EventName, EventPage, EventView } from "./views.ts";

const pageRows = 50;

export async function list(
  { inbox }: Settings,
  { filter, cursor }: { readonly filter: Filter; readonly cursor?: string },
): Promise<EventPage> {
  const [page, pauses] = await Promise.all([selectSome(inbox, filter, pageRows, cursor), inbox.paused()]);
  const now = await storeTimeMs(inbox, Date.now()); // after the rows: an event that was due then is due now
  const { rows, nextCursor, searchedTo } = page;
  const held = await heldBackOf(inbox, rows, { now, pauses });
  const shown = rows.map((row) => eventRow(row, held.get(row)));
  return { rows: shown, nextCursor, searchedTo: timeOf(searchedTo) };
}

/** The highest count that the page shows. */
export const mostCounted = 10_000;

/**
 * Counts by gauges or indexes if the filter has at most a state and `dueLater`. Otherwise counts from the newest event on, for a limited
 * time: `searchedTo` says how far.
 */
export async function count({ inbox }: Settings, { filter }: { readonly filter: Filter }): Promise<Counted> {
  const { state, dueLater, ...others } = filter;
  if (Object.keys(others).length > 0) return countNewest(inbox, filter);
  if (dueLater) return countOf(await inbox.gauges(), ["waiting"]);
  if (state !== undefined && state !== "done")
    return countOf(
      await inbox.gauges(),
      state === "ready" ? ["ready", "waiting", "blocked", "paused"] : [state],
    );
  const found = await inbox.count(inboxFilter(inbox, filter), mostCounted + 1);
  return { count: Math.min(found, mostCounted), isMore: found > mostCounted, searchedTo: null };
}

function countOf({ counts, capped }: InboxGauges, names: readonly GaugeCount[]): Counted {
  const more = names.filter((name) => capped.includes(name)).length; // each has counted one more than its limit
  const count = names.reduce((sum, name) => sum + counts[name], 0) - more;
  return { count, isMore: more > 0, searchedTo: null };
}

const mostOfPage = 500;
const longestCountMs = 60;

async function countNewest(inbox: InboxAdmin, filter: Filter): Promise<Counted> {
  const endAt = performance.now() + longestCountMs;
  let found = 0;
  for await (const { rows, nextCursor, searchedTo } of selectAll(inbox, filter, mostOfPage)) {
    found += rows.length;
    if (nextCursor === null) break;
    if (found > mostCounted) return { count: mostCounted, isMore: true, searchedTo: null };
    if (performance.now() > endAt) return { count: found, isMore: true, searchedTo: timeOf(searchedTo) };
  }
  return { count: found, isMore: false, searchedTo: null };
}

/** An event with its body. Throws `event_not_found`. */
export async function storedEvent(inbox: InboxAdmin, name: EventName): Promise<StoredEvent> {
  const found = await inbox.get(nameOf(name));
  if (found !== undefined) return found;
  throw refused(
    "event_not_found",
    "The inbox has no event of this source and id.",
    "It was deleted, or its retention has ended: go back to the list.",
  );
}

export async function event({ inbox }: Settings, name: EventName): Promise<EventView> {
  const found = await storedEvent(inbox, name);
  const [pauses, workers, neighbours] = await Promise.all([
    inbox.paused(),
    inbox.workers(),
    neighboursOf(inbox, found),
  ]);
  const now = await storeTimeMs(inbox, Date.now());
  const { key, trace, heldBy, takenAt, erasedAt, history, stack } = found;
  return {
    ...eventRow(found, eventHeldBack(found, { now, pauses })),
    cause: found.error && causeOf(found.error),
    lane: maskLane(found),
    key,
    trace,
    takenAt: timeOf(takenAt),
    erasedAt: timeOf(erasedAt),
    history: history.map(({ endedAt, error, ...attempt }) => ({
      ...attempt,
      endedAt: timeOf(endedAt),
      error: error && maskText(error),
    })),
    stack: stack && maskText(stack),
    payload: maskedPayload(found),
    waits: whyItWaits(found, { now, pauses, workers }),
    heldBy: heldBy && nameOf(heldBy),
    ...neighbours,
  };
}

const mostNeighbours = 1000;

/**
 * The events of the same eSIM that were received before and after this one. Null: there is none, or this one is not among the newest thousand
 * of the eSIM, as far as these are found in a short time.
 */
async function neighboursOf(
  inbox: InboxAdmin,
  event: StoredEvent,
): Promise<Pick<EventView, "before" | "after">> {
  const { subject } = event;
  if (subject === null || inbox.capabilities.filters !== undefined) return { before: null, after: null };
  const { rows } = await selectSome(inbox, { subject }, mostNeighbours);
  const place = rows.findIndex((row) => isSame(row, event));
  const at = (index: number) => {
    const row = place === -1 ? undefined : rows[index];
    return row === undefined ? null : nameOf(row);
  };
  return { before: at(place + 1), after: at(place - 1) };
}
