import { createConnection } from "node:net";
import type { PostgresPoolClient } from "kysely";

/** The parts of a client of `pg` that name its connection and its backend. */
interface Connected {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

const cancelRequest = 80877102; // the protocol's number for it
const connectMs = 10_000;

/**
 * Asks the server to cancel the query that the client waits for, on a connection of its own, as the protocol requires. The server may be
 * unable to.
 */
export function cancelQuery(client: PostgresPoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as Connected;
  const request = Buffer.alloc(16);
  for (const [at, number] of [request.length, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(number, at * 4);
  }
  const socket = createConnection(
    host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
  );
  socket.setTimeout(connectMs, () => socket.destroy()).unref();
  socket.on("connect", () => {
    // the server closes it, if frozen when it runs again: PgBouncer 1.18 ends itself when a request that it passes on is closed
    socket.setTimeout(0).setKeepAlive(true, connectMs).write(request);
  });
  socket.on("error", () => {}); // the connection of the query is cut
  socket.resume();
}
