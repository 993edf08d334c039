/** How long to wait for another process's lock, of the ms that a caller waits: he is told of it then, and not just that the time is over. */
export function busyMsOf(timeoutMs: number): number {
  return Math.ceil(timeoutMs * 0.8);
}
