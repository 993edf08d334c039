/** Milliseconds of the machine's monotonic clock. They are the same in all threads, as those of `performance.now()` are not. */
export function uptimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
