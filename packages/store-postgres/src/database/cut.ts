/** Destroys the socket of a client of `pg`, since a server that does not answer would not close the connection. */
export function cut(client: object): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}
