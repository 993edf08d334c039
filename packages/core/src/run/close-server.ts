/** The part of a server of `node:http` or `node:https` that ends it. */
export interface ClosableServer {
  close(done: () => void): unknown;
  closeAllConnections(): void;
}

/** How long a connection may stay open once all deliveries are answered, in ms: long enough to read the answer. */
const readingMs = 1000;

/** Accepts no more connections. Waits for `answered`, then at most one second for the open connections, and closes them. */
export async function closeServer(server: ClosableServer, answered?: Promise<unknown>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(resolve));
  await Promise.allSettled([answered]);
  const cut = setTimeout(() => server.closeAllConnections(), readingMs);
  await closed;
  clearTimeout(cut);
}
