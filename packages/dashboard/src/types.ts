import type { InboxAdmin, InboxState } from "@esim-webhooks/core";
import type { Counted, TypesView } from "./contract.ts";
import { countOf } from "./events.ts";
import { pauseView, timeOf } from "./rows.ts";
import { selectAll } from "./selection.ts";
import type { Settings } from "./settings.ts";

/** The types of events, of the catalog and of the pauses, those with the most events first. */
export async function types({ inbox, catalog }: Settings): Promise<TypesView> {
  const [{ groups, more }, pauses] = await Promise.all([grouped(inbox), inbox.paused()]);
  for (const type of [...pauses.flatMap(({ type }) => type ?? []), ...catalog.types])
    if (!groups.has(type)) groups.set(type, { states: { ...none }, lastAt: null });
  const total = ({ states }: Group) => Object.values(states).reduce((sum, each) => sum + each, 0);
  const pauseOf = (type: string | null) => {
    const pause = pauses.find((each) => each.type === type);
    return pause === undefined ? null : pauseView(pause);
  };
  return {
    allPaused: pauseOf(null),
    more,
    types: [...groups]
      .sort(([, a], [, b]) => total(b) - total(a))
      .map(([type, { states, lastAt }]) => ({
        type,
        states,
        lastAt: timeOf(lastAt),
        pause: type === null ? null : pauseOf(type),
      })),
  };
}

interface Group {
  readonly states: Record<InboxState, number>;
  lastAt: Date | null;
}

const none: Readonly<Record<InboxState, number>> = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
/** What an operator looks for comes first: the time may not be enough for all. */
const order = ["dead", "unhandled", "leased", "ready", "done"] as const;

const mostOfState = 10_000;
const mostOfPage = 1000;
const longestMs = 50;

/** The events of each state by type, counted from the newest on: at least a page of each state, and more as long as there is time. */
async function grouped(
  inbox: InboxAdmin,
): Promise<{ groups: Map<string | null, Group>; more: InboxState[] }> {
  const gauges = await inbox.gauges();
  const endAt = performance.now() + longestMs;
  const groups = new Map<string | null, Group>();
  const more: InboxState[] = [];
  for (const state of order) {
    const all = state === "done" ? null : countOf(gauges, state);
    let found = 0;
    if (isAll(found, all)) continue;
    for await (const { rows, nextCursor } of selectAll(inbox, { state }, mostOfPage)) {
      for (const { type, receivedAt } of rows) {
        const group = groups.get(type) ?? { states: { ...none }, lastAt: null };
        groups.set(type, group);
        group.states[state] += 1;
        if (receivedAt !== null && receivedAt > (group.lastAt ?? 0)) group.lastAt = receivedAt;
      }
      found += rows.length;
      if (nextCursor === null || isAll(found, all)) break;
      if (found >= mostOfState || performance.now() > endAt) {
        more.push(state);
        break;
      }
    }
  }
  return { groups, more };
}

/** Whether no more events can be found than these. */
function isAll(found: number, all: Counted | null): boolean {
  return all !== null && !all.isMore && found >= all.count;
}
