import type { InboxAdmin } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/internal";
import { countedSoFar, countSoFar } from "../terminal/quantities.ts";
import { isThere } from "./default-place.ts";
import { pendingEvents } from "./gauge-sum.ts";
import { findInbox, type OpenInbox } from "./open-target.ts";
import { isPostgresUrl, nameOf } from "./place.ts";
import type { SetUp } from "./set-up.ts";

/** How many events wait in an inbox, or are with a worker, as a sentence. Undefined if there are none, or the inbox cannot say. */
export async function waitingNote(inbox: object, where: string): Promise<string | undefined> {
  if (!hasRole(inbox, "admin")) return undefined;
  try {
    const gauges = await inbox.gauges();
    const { value, isMore } = pendingEvents(gauges);
    if (value === 0) return undefined;
    const events = countedSoFar(value, "event waits", "events wait", isMore);
    const { leased } = gauges.counts;
    return leased === 0
      ? `${events} in ${where}.`
      : `${events} in ${where}, ${countSoFar(leased, gauges.capped.includes("leased"))} of them with a worker, or with one that has crashed.`;
  } catch {
    return undefined; // a note is no reason not to start
  }
}

/**
 * Opens the default inbox that a config leaves behind: its handlers run inline, and remember ids in a store of its own.
 * Undefined when there is none. Only `work` processes it. A Postgres may not have the tables of an inbox.
 */
export async function openLeftBehind(setUp: SetUp): Promise<OpenInbox<InboxAdmin> | undefined> {
  const { config, handlers, place } = setUp;
  const isLeft = handlers !== undefined && config.store !== undefined && config.target === undefined;
  if (!isLeft || ("url" in place && !isPostgresUrl(place.url))) return undefined; // the variable may be for another program
  return isThere(place) ? findInbox(setUp, "admin") : undefined;
}

/** As `waitingNote`, for the inbox that the config leaves behind, and how to process it. */
export async function leftBehindNote(setUp: SetUp): Promise<string | undefined> {
  const left = await openLeftBehind(setUp);
  if (left === undefined) return undefined;
  const note = await waitingNote(left.inbox, nameOf(setUp.place));
  await left.close();
  return note && `${note} serve does not process them with this config: run esim-webhooks work.`;
}
