import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a Postgres that takes requests to cancel, passes none on, and leaves their connections open. */
export interface CancelHoldingProxy {
  readonly url: string;
  /** How many requests to cancel it has taken. */
  held(): number;
  close(): Promise<void>;
}

const cancelRequest = 80877102;

export async function cancelHoldingProxy(target: string): Promise<CancelHoldingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let held = 0;
  function keep(socket: Socket): Socket {
    open.add(socket);
    return socket.on("error", () => {}).on("close", () => open.delete(socket));
  }
  const server = createServer((client) => {
    keep(client).once("data", (bytes) => {
      if (bytes.readInt32BE(4) === cancelRequest) {
        held += 1;
        return;
      }
      const upstream = keep(connect(Number(port), hostname));
      upstream.write(bytes);
      client.pipe(upstream).pipe(client);
      client.on("close", () => upstream.destroy());
      upstream.on("close", () => client.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: Object.assign(new URL(target), { host: here }).href,
    held: () => held,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
