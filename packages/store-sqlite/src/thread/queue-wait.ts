/**
 * Tells at the beginning of each message how long it may have waited in the queue of this thread, in ms. It was sent after the one
 * before the last two was answered, since no more than three are on their way: two with many rows, and one with fewer.
 */
export function createQueueWait(): () => number {
  let begun: readonly number[] = []; // the last two messages without a pause behind them
  return () => {
    const now = performance.now();
    const waitedMs = now - (begun[0] ?? now);
    if (begun.length === 0) {
      setImmediate(() => {
        begun = []; // the queue was empty
      });
    }
    begun = [...begun.slice(-1), now];
    return waitedMs;
  };
}
