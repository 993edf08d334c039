import type { BlockedBy, GaugeCount, InboxGauges } from "./inbox-figures.ts";

/** For authors of inboxes: counting for a gauge stops at this number. There may be more events. */
export const mostCounted = 10_001;

/** The counts of an inbox, from which `gaugesOf` makes its gauges. */
export interface CountedGauges extends Pick<InboxGauges, "oldestReadyMs" | "lastReceivedAt"> {
  /** The number of events for each gauge, up to `mostCounted`. `ready` includes the blocked events. */
  readonly counts: Readonly<Record<Exclude<GaugeCount, "blocked">, number>>;
  /** The blocked events that were found. */
  readonly blocked: {
    /** The number of blocked events for each cause. */
    readonly by: BlockedBy;
    /** Whether there may be more: the search ended at a limit. */
    readonly isMore: boolean;
  };
  /** Whether all types are paused: then no event is due, and none is blocked. */
  readonly areAllPaused: boolean;
}

/** For authors of inboxes that count up to a limit: makes the gauges of the counts. */
export function gaugesOf({ counts, blocked, areAllPaused, ...same }: CountedGauges): InboxGauges {
  const { ready, waiting, paused, ...others } = counts;
  const blockedBy = areAllPaused ? { failing: 0, paused: 0, dead: 0 } : blocked.by;
  const found: Record<GaugeCount, number> = {
    ...(areAllPaused
      ? { ready: 0, waiting: 0, paused: ready + waiting + paused }
      : { ready, waiting, paused }),
    ...others,
    blocked: blockedBy.failing + blockedBy.paused + blockedBy.dead,
  };
  const capped = (Object.keys(found) as GaugeCount[]).filter(
    (name) => found[name] >= mostCounted || (name === "blocked" && blocked.isMore && !areAllPaused),
  );
  for (const name of capped) found[name] = Math.min(mostCounted, found[name]);
  // another process may write between two of the counts
  return {
    counts: { ...found, ready: Math.max(0, found.ready - found.blocked) },
    capped,
    blockedBy,
    ...same,
  };
}
