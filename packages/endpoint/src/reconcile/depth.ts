import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { PassState } from "./pass-state.ts";
import { areUsedUp, isDue } from "./tries.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** How far down the listing a pass reads. */
export interface Depth {
  /** Pages are read down to this time. */
  readonly untilMs: number;
  /** It reads down to the mark: it sees again what is coming or failing, and may move the mark on. */
  readonly isDeep: boolean;
  /** It reads down to `since`: it sees all that is listed. A deep pass, too. */
  readonly isFull: boolean;
}

type Timing = Pick<
  PassState,
  "since" | "mark" | "head" | "deepPassAt" | "fullPassAt" | "fullPassTriedAt" | "failures"
>;

/**
 * Once a day, a pass reads down to `since`. Once an hour, and when an event whose handler failed is due, it reads down to the
 * mark, which may be 17 hours behind. The others read down to the head: to what came in since the last pass.
 */
export function depthOf(state: Timing, overlapMs: number, nowMs: number): Depth {
  const [sinceMs, markMs, headMs] = [state.since, state.mark, state.head].map(dateTimeMs) as [
    number,
    number,
    number,
  ];
  const hasPassed = (at: string, ms: number) => Math.abs(nowMs - dateTimeMs(at)) >= ms; // the clock may have been set back
  const isFull = isFullDue(state, nowMs);
  const isDeep = isFull || markMs >= headMs || hasPassed(state.deepPassAt, hourMs) || hasDueTry(state, nowMs);
  const untilMs = isFull ? sinceMs : Math.max((isDeep ? markMs : headMs) - overlapMs, sinceMs);
  return { untilMs, isDeep, isFull };
}

/**
 * A deep pass must have completed since a full one is due, and since one was last tried: a full pass takes long, and where it is
 * interrupted each time, the passes between them bring in what is missing.
 */
function isFullDue({ deepPassAt, fullPassAt, fullPassTriedAt }: Timing, nowMs: number): boolean {
  const deepMs = dateTimeMs(deepPassAt);
  const isBehind = (at: string, ms: number) => deepMs - dateTimeMs(at) >= ms || dateTimeMs(at) > nowMs; // or the clock was set back
  return deepMs <= nowMs && isBehind(fullPassAt, dayMs) && isBehind(fullPassTriedAt, hourMs);
}

function hasDueTry({ failures }: Timing, nowMs: number): boolean {
  return Object.values(failures).some((tries) => !areUsedUp(tries) && isDue(tries, nowMs));
}
