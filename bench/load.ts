import { connect } from "node:net";
import type { SignedRequest } from "@esim-webhooks/core/testing";

export interface Load {
  readonly seconds: number;
  /** The 99th percentile of the time from the first byte sent to the first byte of the answer. */
  readonly p99Ms: number;
}

/**
 * Sends each delivery once over keep-alive connections, one at a time on each, and resolves when all are answered 2xx.
 * It uses bare sockets and reads only the status line: the load must cost less than the server it measures.
 */
export async function load(
  url: string,
  deliveries: readonly SignedRequest[],
  connections: number,
): Promise<Load> {
  const { hostname, port, pathname, host } = new URL(url);
  const requests = deliveries.map(({ headers, body }) => {
    const lines = Object.entries({ host, ...headers, "content-length": String(Buffer.byteLength(body)) });
    return Buffer.from(
      `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    );
  });
  const times = new Float64Array(requests.length);
  let next = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
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
      socket.setNoDelay(true).on("connect", sendNext).on("error", reject);
      socket.on("data", (answer) => {
        if (answer.toString("latin1", 0, 10) !== "HTTP/1.1 2") return reject(new Error(`not 2xx: ${answer}`));
        times[sent] = performance.now() - sentAt;
        sendNext();
      });
    });
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  const seconds = (performance.now() - start) / 1000;
  return { seconds, p99Ms: times.sort()[Math.floor(times.length * 0.99)] ?? Number.NaN };
}
