const dayMs = 24 * 60 * 60_000;

/** The latest time, in ms, that can be true when our own clock says `nowMs`. It may be a day behind that of the service. */
export function latestBelievedMs(nowMs: number): number {
  return nowMs + dayMs;
}

/** Whether a listed time, in ms, can be right: our clock may be up to 30 days behind. A time further ahead is a mistake in its record. */
export function isPlausible(listedMs: number, nowMs: number): boolean {
  return listedMs <= nowMs + 30 * dayMs;
}
