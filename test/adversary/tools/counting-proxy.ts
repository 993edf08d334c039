import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a Postgres that counts the backends at work. */
export interface CountingProxy {
  readonly url: string;
  /** The most connections at a time that began like one of a client, and not like a request to cancel. */
  backends(): number;
  /** All such connections so far. */
  connected(): number;
  close(): Promise<void>;
}

const cancelRequest = 80877102;

export async function countingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const backends = new Set<Socket>();
  let most = 0;
  let connected = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.once("data", (bytes) => {
      if (bytes.readInt32BE(4) === cancelRequest) return;
      connected += 1;
      backends.add(upstream);
      most = Math.max(most, backends.size);
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
          backends.delete(socket);
          other.destroy();
        });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: Object.assign(new URL(target), { host: here }).href,
    backends: () => most,
    connected: () => connected,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
