import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a Postgres that counts the backends which it is asked for. */
export interface CountingProxy {
  readonly url: string;
  /** How many connections began like one of a client, and not like a request to cancel. */
  backends(): number;
  close(): Promise<void>;
}

const cancelRequest = 80877102;

export async function countingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let backends = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.once("data", (bytes) => {
      if (bytes.readInt32BE(4) !== cancelRequest) backends += 1;
    });
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          open.delete(socket);
          other.destroy();
        });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: Object.assign(new URL(target), { host: here }).href,
    backends: () => backends,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
