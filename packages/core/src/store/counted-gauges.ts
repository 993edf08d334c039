import type { BlockedBy, GaugeCount, InboxGauges } from "./inbox-figures.ts";

/** For authors of inboxes: a count of a gauge ends here. There may be more. */
export const mostCounted = 10_001;

/** The gauges as an engine counts them. */
export interface CountedGauges extends Pick<InboxGauges, "oldestReadyMs" | "lastReceivedAt"> {
  /** Each up to `mostCounted`. Blocked events are among those that are `ready`. */
  readonly counts: Readonly<Record<Exclude<GaugeCount, "blocked">, number>>;
  /** The blocked events that were found. */
  readonly blocked: {
    /** How many, by what blocks them. */
    readonly by: BlockedBy;
    /** Whether there may be more, which were not looked for. */
    readonly isMore: boolean;
  };
  /** Whether all types are paused: then no event is due, and none is blocked. */
  readonly areAllPaused: boolean;
}

/** For authors of inboxes that count up to a limit: the gauges of what was counted. */
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
