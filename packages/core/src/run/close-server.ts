/** The part of a server of `node:http` or `node:https` that ends it. */
export interface ClosableServer {
  /** Accepts no more connections. Calls back once there is none left. */
  close(done: () => void): unknown;
  /** Closes the connections that have no request now. */
  closeIdleConnections(): void;
  /** Closes all connections, also in the middle of an answer. */
  closeAllConnections(): void;
}

/** How long a connection may stay open once all deliveries are answered, in ms: long enough to read the answer. */
const readingMs = 1000;

/**
 * Accepts no more connections, and waits for `answered`. A second later it closes the connections without a request, and after `restMs` in
 * all, or that second, the others.
 */
export async function closeServer(
  server: ClosableServer,
  answered?: Promise<unknown>,
  restMs: number = readingMs,
): Promise<void> {
  const startedAt = performance.now();
  const closed = new Promise<void>((resolve) => server.close(resolve));
  closed.catch(() => {}); // awaited below
  await Promise.allSettled([answered]);
  const leftMs = Math.max(readingMs, restMs - (performance.now() - startedAt));
  const timers = [
    setTimeout(() => server.closeIdleConnections(), readingMs),
    setTimeout(() => server.closeAllConnections(), leftMs),
  ];
  try {
    await closed;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
