import * as z from "zod/mini";
import { monotonicClock } from "../base/clock.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import type { OptionsShape, SettingsOf } from "../base/options.ts";
import type { EsimData } from "../event/esim-catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { InboxEntry } from "./inbox-entry.ts";

/** The lane an event is worked in. Null or undefined: this one needs no order. */
export type LaneOf = (
  event: WebhookEvent<string, Partial<EsimData> & Readonly<Record<string, unknown>>>,
) => string | null | undefined;

/** What every inbox can be told. */
export interface InboxOptions {
  /**
   * Events of the same lane are worked one at a time, by the time at which they occurred: `(event) =>
   * event.data.esimReference`. Written down when an event is stored. Default: no lanes.
   */
  lane?: LaneOf;
  /** Whether a dead event lets nothing of its lane pass until an operator has dealt with it. Default false. */
  laneHeldByDead?: boolean;
  /** Whether the bodies of done events are kept until they are forgotten. Default false. */
  keepBodies?: boolean;
}

export type InboxSettings = SettingsOf<InboxOptions, "lane">;

export const inboxShape: OptionsShape<InboxSettings> = {
  lane: z.optional(z.custom<LaneOf>((given) => typeof given === "function", "expected a function")),
  laneHeldByDead: z._default(z.boolean(), false),
  keepBodies: z._default(z.boolean(), false),
};

/** For authors of inboxes: what says the lane of an entry, as the option `lane` does. An option that throws is logged. */
export function laneReader(
  { lane }: Pick<InboxSettings, "lane">,
  logger: Logger,
): (entry: InboxEntry) => string | null {
  const logLane = throttledLog(logger.error, monotonicClock);
  return ({ event }) => {
    if (event === null || lane === undefined) return null;
    try {
      return lane(event as Parameters<LaneOf>[0]) || null;
    } catch (err) {
      logLane(
        { err, id: event.id, type: event.type },
        "The lane option threw: the event is stored without a lane.",
      );
      return null;
    }
  };
}
