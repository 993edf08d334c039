import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a server whose connections can go silent, as behind a firewall that has dropped their state. */
export interface SilentProxy {
  readonly url: string;
  /** Stops all data on the open connections. New connections work. */
  silence(): void;
  close(): Promise<void>;
}

export async function silentProxy(target: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {}).on("close", () => open.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: Object.assign(new URL(target), { host: here }).href,
    silence() {
      for (const socket of open) socket.unpipe().pause();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
