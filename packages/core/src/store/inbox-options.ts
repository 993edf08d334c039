import * as z from "zod/mini";
import { monotonicClock } from "../base/clock.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import type { OptionsShape, SettingsOf } from "../base/options.ts";
import type { EsimData } from "../event/esim-events.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { InboxEntry } from "./inbox-entry.ts";

/** Returns the lane of an event. Null, undefined or an empty text: the event has no lane. */
export type LaneOf = (
  event: WebhookEvent<string, Partial<EsimData> & Readonly<Record<string, unknown>>>,
) => string | null | undefined;

/**
 * Returns the subject of an event: what it is about. Data that does not match its schema is passed too, so it may have any form. Null or
 * undefined: the event has no subject.
 */
export type SubjectOf = (
  data: Partial<EsimData> & Readonly<Record<string, unknown>>,
  type: string | null,
) => unknown;

/** The options of every inbox. */
export interface InboxOptions {
  /**
   * The lane of an event, such as `(event) => event.data.esimReference`. Events of the same lane are handled one at a time, ordered by when they
   * occurred. It is called when an event is stored. Default: no lanes.
   */
  lane?: LaneOf;
  /**
   * The subject of an event, such as `(data) => data.accountId`: operators find its events by it, and erase them. It is called when an event
   * is stored. Only a text of 1 to 200 characters is kept. Default: the `esimReference` of its data.
   */
  subject?: SubjectOf;
  /** Whether a dead event blocks its lane until an operator has redriven, deleted or erased it. Default false. */
  laneHeldByDead?: boolean;
  /** Whether to keep the bodies of done events for the retention. Default false. */
  keepBodies?: boolean;
  /**
   * How long the bodies of unhandled and dead events are kept, in ms. Without its body, an event cannot be redriven. Unhandled events
   * are also forgotten after `retentionMs`. Default: 90 days.
   */
  bodyRetentionMs?: number;
  /**
   * Whether to count for each minute of the last day how many events were stored, done or unhandled, retried and dead, for `minutes()` and the
   * dashboard's plots. Each process writes its counts at most every ten seconds. Default false.
   */
  minuteCounts?: boolean;
}

/** `InboxOptions` after parsing. */
export type InboxSettings = SettingsOf<InboxOptions, "lane" | "subject">;

/** For authors of inboxes: the schema of the option `subject`. */
export const subjectOption: z.ZodMiniType<SubjectOf | undefined> = z.optional(
  z.custom<SubjectOf>((value) => typeof value === "function", "expected a function"),
);

/** The schemas of `InboxOptions`. */
export const inboxShape: OptionsShape<InboxSettings> = {
  lane: z.optional(z.custom<LaneOf>((value) => typeof value === "function", "expected a function")),
  subject: subjectOption,
  laneHeldByDead: z._default(z.boolean(), false),
  keepBodies: z._default(z.boolean(), false),
  bodyRetentionMs: z._default(z.number().check(z.gte(1, "expected at least 1 ms")), 90 * 86_400_000),
  minuteCounts: z._default(z.boolean(), false),
};

/** For authors of inboxes: returns a function that gives the lane of an entry. If the option `lane` throws, logs the error and gives null. */
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

const longestSubject = 200;

/**
 * For authors of inboxes: returns a function that gives the subject of an entry. If the entry has no event, it reads the body: an erasure must
 * also find bodies that do not match their schema. If the option `subject` throws, logs the error and gives null.
 */
export function subjectReader(
  { subject: subjectOf = ({ esimReference }) => esimReference }: { readonly subject?: SubjectOf | undefined },
  logger: Logger,
): (entry: Pick<InboxEntry, "type" | "event" | "body">) => string | null {
  const logSubject = throttledLog(logger.error, monotonicClock);
  return ({ type, event, body }) => {
    try {
      const data = Object(event === null ? dataIn(body) : event.data);
      const subject = subjectOf(data, type);
      return isStorableSubject(subject) ? subject : null;
    } catch (err) {
      logSubject(
        { err, type },
        "The subject option threw: the event is stored without a subject, so no search and no erasure finds it.",
      );
      return null;
    }
  };
}

/** Whether every engine can store and index the subject. */
function isStorableSubject(subject: unknown): subject is string {
  return (
    typeof subject === "string" &&
    subject.length > 0 &&
    subject.length <= longestSubject &&
    !subject.includes("\0") &&
    subject.isWellFormed()
  );
}

/** Returns the `data` of a body, which need not be an envelope. Undefined: it has none, or is not JSON. */
function dataIn(body: Uint8Array): unknown {
  try {
    return (JSON.parse(new TextDecoder().decode(body)) as { readonly data?: unknown } | null)?.data;
  } catch {
    return undefined;
  }
}
