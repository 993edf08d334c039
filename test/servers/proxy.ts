import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Returns the bytes to pass on in place of those that arrived; `"cut"` ends the connection. */
export type Pass = (bytes: Buffer) => Buffer | "cut";

/** How a proxy interferes. By default it passes everything on. */
export interface ProxyOptions {
  /** Changes what clients send. */
  readonly request?: Pass;
  /** Changes what the server sends. */
  readonly answer?: Pass;
  /** Called with the first bytes of a connection. `"hold"`: it stays open, and nothing passes. */
  readonly opened?: (first: Buffer) => "hold" | "pass";
  /** Called with the same bytes when that connection has ended. */
  readonly closed?: (first: Buffer) => void;
}

/** A proxy to a server: it can change what passes, and fail as networks do. */
export interface TestProxy {
  readonly url: string;
  /** Cuts the connection instead of passing on the server's next answer. */
  loseNextAnswer(): void;
  /** Leads new connections to another server. Open ones stay where they are. */
  lead(target: { readonly url: string }): void;
  /** Stops all data on the open connections, as a firewall does that has dropped their state. New connections work. */
  silence(): void;
  /** Refuses new connections. */
  refuse(): void;
  /** Accepts connections again after `refuse`. */
  accept(): void;
  close(): Promise<void>;
}

const unchanged: Pass = (bytes) => bytes;

export async function startProxy(
  target: { readonly url: string },
  { request = unchanged, answer = unchanged, opened = () => "pass", closed = () => {} }: ProxyOptions = {},
): Promise<TestProxy> {
  let { hostname, port } = new URL(target.url);
  const sockets = new Set<Socket>();
  let isNextAnswerLost = false;

  function answerOrCut(bytes: Buffer): Buffer | "cut" {
    const isLost = isNextAnswerLost;
    isNextAnswerLost = false;
    return isLost ? "cut" : answer(bytes);
  }

  function forward(from: Socket, to: Socket, pass: Pass): void {
    from.on("data", (bytes: Buffer) => {
      const passed = pass(bytes);
      if (passed === "cut") from.destroy();
      else if (!to.write(passed)) from.pause();
    });
    to.on("drain", () => from.resume());
    from.on("close", () => to.destroy());
  }

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    return socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  }

  const server = createServer((client) => {
    keep(client).once("data", (first: Buffer) => {
      client.on("close", () => closed(first));
      if (opened(first) === "hold") return;
      const upstream = keep(connect(Number(port), hostname));
      forward(client, upstream, request);
      forward(upstream, client, answerOrCut);
      client.emit("data", first);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = (server.address() as AddressInfo).port;
  return {
    url: Object.assign(new URL(target.url), { host: `127.0.0.1:${here}` }).href,
    loseNextAnswer() {
      isNextAnswerLost = true;
    },
    lead(target) {
      ({ hostname, port } = new URL(target.url));
    },
    silence() {
      for (const socket of sockets) socket.removeAllListeners("drain").pause();
    },
    refuse: () => void server.close(),
    accept: () => void server.listen(here, "127.0.0.1"),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
