import type { Channel } from "node:diagnostics_channel";
import { masked } from "../base/masking.ts";
import { createNotice } from "../base/trace.ts";
import type { GivenUp, GiveUpOptions } from "./give-up.ts";
import type { InboxFilter, InboxPauses, InboxRepairs } from "./inbox-admin.ts";
import type { InboxQueue } from "./inbox-queue.ts";
import type { Pause, PauseOptions } from "./pause.ts";
import type { InboxState } from "./stored-event.ts";

/**
 * A change that an operator has made to an inbox, or a purge. Published on `esim-webhooks:change`. The `subject` and the `error` of a filter are
 * masked, since they are personal data or may quote it.
 */
export type ChangeMessage =
  /** Dead, unhandled or waiting events became due. `events`: how many; 0 if none. */
  | {
      readonly change: "redrive";
      readonly filter: InboxFilter;
      readonly events: number;
      readonly by?: string;
    }
  /** Ready events became dead. `leased`: how many matched, but a worker has them. */
  | ({ readonly change: "give_up"; readonly filter: InboxFilter } & GiveUpOptions & GivenUp)
  /** Events, or only their bodies, were deleted after their retention. */
  | { readonly change: "purge"; readonly events: number }
  /** Dead events were deleted. */
  | { readonly change: "purge_dead"; readonly filter: InboxFilter; readonly events: number }
  /** Types were paused: `types`, or all. */
  | ({ readonly change: "pause" } & Omit<PauseOptions, "catalog">)
  /** Pauses were ended. */
  | { readonly change: "resume"; readonly pauses: readonly Pause[] }
  /** Personal data was erased. The message does not say whose. */
  | { readonly change: "erase"; readonly events: Readonly<Record<InboxState, number>> };

export const changeNotice: Channel<unknown, ChangeMessage> = createNotice("change");

/** The operations with which an operator, or the purge of a worker, changes an inbox. */
export type InboxChanges = InboxRepairs & Omit<InboxPauses, "paused"> & Pick<InboxQueue, "purge">;

/** For authors of inboxes: wraps the operations, so that each publishes its change for `observe`. */
export function publishChanges(inbox: InboxChanges): InboxChanges {
  const publish = (message: ChangeMessage) => {
    if (changeNotice.hasSubscribers) changeNotice.publish(message);
  };
  return {
    async redrive(filter = {}, limit, by) {
      const events = await inbox.redrive(filter, limit, by);
      const named = by === undefined ? {} : { by };
      publish({ change: "redrive", filter: maskedFilter(filter), events, ...named });
      return events;
    },
    async giveUp(filter, options, limit) {
      const givenUp = await inbox.giveUp(filter, options, limit);
      publish({ change: "give_up", filter: maskedFilter(filter), ...options, ...givenUp });
      return givenUp;
    },
    async purge(limit) {
      const events = await inbox.purge(limit);
      if (events > 0) publish({ change: "purge", events });
      return events;
    },
    async purgeDead(filter, limit) {
      const events = await inbox.purgeDead(filter, limit);
      publish({ change: "purge_dead", filter: maskedFilter(filter), events });
      return events;
    },
    async pause(options) {
      await inbox.pause(options);
      const { catalog: _, ...pause } = options;
      publish({ change: "pause", ...pause });
    },
    async resume(options) {
      const pauses = await inbox.resume(options);
      publish({ change: "resume", pauses });
      return pauses;
    },
    async erase(subject, limit) {
      const events = await inbox.erase(subject, limit);
      publish({ change: "erase", events });
      return events;
    },
  };
}

function maskedFilter(filter: InboxFilter): InboxFilter {
  return {
    ...filter,
    ...(filter.subject !== undefined && { subject: masked }),
    ...(filter.error !== undefined && { error: masked }),
  };
}
