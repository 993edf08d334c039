import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What is passed on in place of the bytes that came; `"cut"` ends the connection instead. */
export type Pass = (bytes: Buffer) => Buffer | "cut";

/** A proxy to a server that can change what passes, and cut connections. */
export interface CuttingProxy {
  readonly url: string;
  /** Refuses new connections. */
  refuse(): void;
  /** Takes connections again after `refuse`. */
  accept(): void;
  close(): Promise<void>;
}

const asItIs: Pass = (bytes) => bytes;

/** `request` gets what clients send, `answer` what the server sends. Default: both pass as they are. */
export async function cuttingProxy(
  server: { readonly url: string },
  { request = asItIs, answer = asItIs }: { readonly request?: Pass; readonly answer?: Pass },
): Promise<CuttingProxy> {
  const target = new URL(server.url);
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to, pass] of [
      [client, upstream, request],
      [upstream, client, answer],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => {
        const passed = pass(bytes);
        if (passed === "cut") client.destroy();
        else to.write(passed);
      });
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    url: Object.assign(new URL(server.url), { host: `127.0.0.1:${port}` }).href,
    refuse: () => void proxy.close(),
    accept: () => void proxy.listen(port, "127.0.0.1"),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
