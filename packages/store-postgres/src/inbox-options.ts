import type { EsimData, WebhookEvent } from "@esim-webhooks/core";
import type { OptionsShape, SettingsOf } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";

/** The lane an event is worked in. Null or undefined: this one needs no order. */
export type LaneOf = (
  event: WebhookEvent<string, Partial<EsimData> & Readonly<Record<string, unknown>>>,
) => string | null | undefined;

/** What an inbox can be told, wherever its database runs. */
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
