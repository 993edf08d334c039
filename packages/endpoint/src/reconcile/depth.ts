const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How far down the listing a pass reads. A deeper pass includes the shallower ones. */
export type Depth = "recent" | "watermark" | "full";

/** The part of the state that decides how far a pass reads. Times in ms. */
export interface Reach {
  readonly since: number;
  readonly mark: number;
  readonly head: number;
  /**
   * When the last completed pass of each depth began, by our own clock. During a full pass, `full` is backdated so that the next one is due
   * in an hour (`passesBegun`).
   */
  readonly passes: Readonly<Record<Depth, number>> & {
    /** The earliest next attempt of an event that holds the watermark back. Before that, a pass to the watermark would find nothing changed. */
    readonly quietUntil: number;
  };
}

/** How often a pass of each depth is due, and the time down to which it reads. */
const depths: Readonly<
  Record<Depth, { readonly everyMs: number; readonly untilMs: (reach: Reach, overlapMs: number) => number }>
> = {
  recent: {
    everyMs: 0,
    untilMs: ({ mark, head }, overlapMs) => Math.max(mark, head) - Math.min(overlapMs, 10 * minuteMs),
  },
  watermark: {
    everyMs: hourMs,
    // recent passes may have moved the mark on by an hour, with less overlap
    untilMs: ({ mark }, overlapMs) => mark - overlapMs - hourMs,
  },
  full: {
    everyMs: dayMs,
    untilMs: ({ since }) => since,
  },
};

/** A full pass that did not complete is due again after this time, so that ordinary passes run in between. */
const fullAgainMs = hourMs;

/**
 * The depth of the next pass: the deepest that is due, at least `minDepth`. A full pass takes long, so it first waits until a pass to the
 * watermark has completed since the full one was due: new events are then already stored.
 */
export function nextDepth({ passes }: Reach, minDepth: Depth, nowMs: number): Depth {
  const isDue = (depth: Depth, atMs = nowMs) => Math.abs(atMs - passes[depth]) >= depths[depth].everyMs; // the clock may have been set back
  const isFullDue = isDue("full", passes.watermark); // it was due when the last pass to the watermark began
  if (isFullDue) return "full";
  const quietMs = passes.quietUntil - nowMs;
  const isQuiet = quietMs > 0 && quietMs < dayMs && !isDue("full");
  return isDue("watermark") && !isQuiet ? "watermark" : minDepth;
}

/** Returns the time down to which pages are read, in ms. */
export function untilMsOf(depth: Depth, reach: Reach, overlapMs: number): number {
  return Math.max(depths[depth].untilMs(reach, overlapMs), reach.since);
}

/** Returns `passes` as it is stored while a pass of this depth is under way. A full pass that does not complete is due again in an hour. */
export function passesBegun({ passes }: Reach, depth: Depth, nowMs: number): Reach["passes"] {
  return depth === "full" ? { ...passes, full: nowMs - dayMs + fullAgainMs } : passes;
}

/**
 * Returns `passes` as it is stored after a pass of this depth has completed. `nextAttemptMs`: the earliest next attempt of the events that
 * this pass saw and that hold the watermark back; Infinity if it saw none.
 */
export function passesCompleted(
  { passes }: Reach,
  depth: Depth,
  beganMs: number,
  nextAttemptMs: number,
): Reach["passes"] {
  if (depth === "recent") {
    return { ...passes, recent: beganMs, quietUntil: Math.min(passes.quietUntil, nextAttemptMs) };
  }
  return {
    recent: beganMs,
    watermark: beganMs,
    full: depth === "full" ? beganMs : passes.full,
    quietUntil: nextAttemptMs === Number.POSITIVE_INFINITY ? beganMs : nextAttemptMs,
  };
}
