import type { Inbox, InboxFilter } from "@esim-webhooks/core";
import { countMatching } from "./matching.ts";

/** How many dead events a filter means, counted no further than the limit. */
export async function countDead(
  inbox: Inbox,
  filter: Omit<InboxFilter, "state">,
  limit: number,
): Promise<{ events: number }> {
  const { types, ...rest } = filter;
  if (Object.keys(rest).length > 0) {
    return { events: await countMatching(inbox, { ...filter, state: "dead" }, limit) };
  }
  const stats = await inbox.stats();
  const dead = stats.types.filter(({ state }) => state === "dead");
  const meant = types ? dead.filter(({ type }) => type !== null && types.includes(type)) : dead;
  return {
    events: Math.min(
      limit,
      meant.reduce((sum, { count }) => sum + count, 0),
    ),
  };
}

/** Each is looked at, a page at a time. */
const mostLookedAt = 5000;

/** How many done events are past their retention. Nothing says it but the events: of very many, how many there are at most. */
export async function countPastRetention(
  inbox: Inbox,
  limit: number,
  now: number,
): Promise<{ events: number; atMost?: boolean }> {
  const { states } = await inbox.stats();
  if (states.done > mostLookedAt) return { events: Math.min(limit, states.done), atMost: true };
  const isOver = ({ endsAt }: { readonly endsAt: Date | null }) => endsAt !== null && endsAt.getTime() <= now;
  return { events: await countMatching(inbox, { state: "done" }, limit, isOver) };
}
