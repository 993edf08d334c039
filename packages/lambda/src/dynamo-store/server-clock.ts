/** The time of a server that shows it only in whole seconds, in the `Date` of its responses. */
export interface ServerClock {
  /** Learns from a response. Times are of `performance.now()`. Throws nothing: without a valid date, it learns nothing. */
  read(date: string | undefined, sentAt: number, receivedAt: number): void;
  /** The time of the server is at least this, in ms since the Unix epoch. NaN before the first response. */
  earliest(): number;
  /** The time of the server is at most this. */
  latest(): number;
}

/**
 * Creates a clock of a server. A response with the date T was made between its request and its arrival, and not later than a second after T:
 * each response narrows the bounds. This machine's own date is not read, so it may be wrong. If a response is not within the bounds, because
 * the monotonic clock stood still while Lambda had frozen the process, the bounds begin again with that response.
 */
export function createServerClock(): ServerClock {
  let low = Number.NaN; // bounds of the server's time minus `performance.now()`
  let high = Number.NaN;
  return {
    read(date, sentAt, receivedAt) {
      const second = Date.parse(date ?? "");
      if (Number.isNaN(second)) return;
      const [from, to] = [second - receivedAt, second + 1000 - sentAt];
      const fits = from <= high && to >= low;
      low = fits ? Math.max(low, from) : from;
      high = fits ? Math.min(high, to) : to;
    },
    earliest: () => Math.floor(low + performance.now()),
    latest: () => Math.ceil(high + performance.now()),
  };
}
