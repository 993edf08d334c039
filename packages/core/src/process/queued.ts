// What consumers of queues share: the processor's input for an entry, and the log line of an outcome that it does not log.
import { crc32 } from "node:zlib";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { InboxEntry } from "../store/inbox-entry.ts";
import type { Provenance } from "./claimed-work.ts";

/** Where an entry came from, as far as the entry itself says. A rebuilt body has no fingerprint: its bytes are not those that were signed. */
export function provenanceOf({ source, receivedAt, body, replay, trace }: InboxEntry): Provenance {
  return {
    source,
    receivedAt,
    replayed: replay !== undefined,
    ...(trace !== undefined && { trace }),
    ...(replay?.rebuilt !== true && { fingerprint: crc32(body) }),
  };
}

export interface OutcomeFields {
  readonly outcome: EventOutcome["code"];
  readonly err?: unknown;
  /** Where each issue is. */
  readonly issues?: readonly unknown[];
}

const unlogged: ReadonlySet<EventOutcome["code"]> = new Set<EventOutcome["code"]>([
  "conflict",
  "invalid",
  "store_unavailable",
]);

/**
 * The fields of a log line for an outcome of which an operator must know, and which the processor does not log since no handler has run;
 * otherwise undefined. Not the values of issues, which are the event's own.
 */
export function unloggedOutcome(outcome: EventOutcome): OutcomeFields | undefined {
  if (!unlogged.has(outcome.code)) return undefined;
  return {
    outcome: outcome.code,
    ...("error" in outcome && { err: outcome.error }),
    ...("issues" in outcome && { issues: outcome.issues.map(({ path }) => path) }),
  };
}
