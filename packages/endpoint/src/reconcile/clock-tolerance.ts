const dayMs = 24 * 60 * 60_000;

/** The latest time, in ms, that can be true when our own clock says `nowMs`. It may be a day behind that of the service. */
export function latestBelievedMs(nowMs: number): number {
  return nowMs + dayMs;
}
