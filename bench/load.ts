import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Load {
  readonly seconds: number;
  /** The 99th percentile of the time from the first byte sent to the first byte of the answer. */
  readonly p99Ms: number;
}

/** A request that has been signed, in any scheme. */
export interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The bytes of a request. */
export function wire(url: string, { headers, body }: Request): Buffer {
  const { pathname, host } = new URL(url);
  const lines = Object.entries({ host, ...headers, "content-length": String(Buffer.byteLength(body)) });
  return Buffer.from(
    `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}

/** Opens connections, and resolves when all are open. */
export async function openConnections(url: string, connections: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname).setNoDelay(true));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

/** The status of an answer, from its first bytes. */
export function statusOf(answer: Buffer): number {
  return Number(answer.toString("latin1", "HTTP/1.1 ".length, "HTTP/1.1 200".length));
}

export function p99(times: Float64Array): number {
  return times.sort()[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

/**
 * Sends each delivery once over keep-alive connections, one at a time on each, and resolves when all are answered with a
 * status of the same hundred as `expected`. It uses bare sockets and reads only the status line: the load must cost less than
 * the server it measures.
 */
export async function load(
  url: string,
  deliveries: readonly Request[],
  connections: number,
  expected = 200,
): Promise<Load> {
  const requests = deliveries.map((delivery) => wire(url, delivery));
  const times = new Float64Array(requests.length);
  const sockets = await openConnections(url, connections);
  let next = 0;
  const sendAll = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let sent = 0;
      let sentAt = 0;
      const sendNext = () => {
        sent = next++;
        const request = requests[sent];
        if (request === undefined) {
          socket.destroy();
          return resolve();
        }
        sentAt = performance.now();
        socket.write(request);
      };
      socket.on("error", reject).on("data", (answer) => {
        if (Math.floor(statusOf(answer) / 100) !== Math.floor(expected / 100))
          return reject(new Error(`not like ${expected}: ${answer}`));
        times[sent] = performance.now() - sentAt;
        sendNext();
      });
      sendNext();
    });
  const start = performance.now();
  await Promise.all(sockets.map(sendAll));
  const seconds = (performance.now() - start) / 1000;
  return { seconds, p99Ms: p99(times) };
}
