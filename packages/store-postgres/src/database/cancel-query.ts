import { createConnection } from "node:net";
import type { PostgresPoolClient } from "kysely";

/** The fields of a client of `pg` that describe its connection. */
interface Connected {
  readonly host?: string;
  readonly port?: number;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
}

const cancelRequest = 80877102; // the protocol's code of this request
const connectMs = 10_000;

/**
 * Asks the server to cancel the query that the client waits for, on a connection of its own, as the protocol requires. Resolves
 * to whether the server has accepted the request, or the query has ended. A server that accepts it may still be unable to cancel the query.
 */
export function cancelQuery(client: PostgresPoolClient, ended: Promise<unknown>): Promise<boolean> {
  const { host = "localhost", port = 5432, processID, secretKey } = client as Connected;
  if (typeof processID !== "number" || typeof secretKey !== "number") return Promise.resolve(true); // a client of another driver
  const request = Buffer.alloc(16);
  for (const [at, number] of [request.length, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(number, at * 4);
  }
  const socket = createConnection(
    host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
  );
  return new Promise((resolve) => {
    let failed = false;
    let isSent = false;
    void ended.then(() => {
      resolve(true);
      // PgBouncer 1.18 exits if the connection is closed while it passes the request on
      if (isSent) socket.setTimeout(connectMs, () => socket.destroy()).unref();
      else socket.destroy();
    });
    socket.setTimeout(connectMs, () => socket.destroy(new Error("The server cannot be reached.")));
    socket.on("connect", () => {
      socket.setTimeout(0); // a frozen server answers once it runs again; the keepalive notices a dead host
      socket.setKeepAlive(true, connectMs);
      socket.write(request);
      isSent = true;
    });
    socket.on("error", () => {
      failed = true;
    });
    socket.on("close", () => resolve(!failed));
    socket.resume(); // the server sends nothing, and closes the connection
  });
}
