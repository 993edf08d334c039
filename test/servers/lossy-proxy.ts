import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a server that can lose an answer. */
export interface LossyProxy {
  readonly url: string;
  /** Cuts the connection instead of passing on the server's next answer. */
  loseNextAnswer(): void;
  close(): Promise<void>;
}

export async function lossyProxy(server: { readonly url: string }): Promise<LossyProxy> {
  const target = new URL(server.url);
  const sockets = new Set<Socket>();
  let lossy = false;
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (lossy) client.destroy();
      else client.write(bytes);
      lossy = false;
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const here = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: Object.assign(new URL(server.url), { host: here }).href,
    loseNextAnswer() {
      lossy = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
