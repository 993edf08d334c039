import { connect } from "node:net";
import type { SignedRequest } from "@esim-webhooks/core/testing";

/**
 * Sends each delivery once over keep-alive connections, one at a time on each, and resolves when all are answered 2xx.
 * A bare socket and a search for the status line: the load must cost less than what it measures.
 */
export async function load(
  url: string,
  deliveries: readonly SignedRequest[],
  connections: number,
): Promise<{ seconds: number }> {
  const { hostname, port, pathname, host } = new URL(url);
  const requests = deliveries.map(({ headers, body }) => {
    const lines = Object.entries({ host, ...headers, "content-length": String(Buffer.byteLength(body)) });
    return Buffer.from(
      `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    );
  });
  let next = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      const sendNext = () => {
        const request = requests[next++];
        if (request === undefined) {
          socket.destroy();
          return resolve();
        }
        socket.write(request);
      };
      socket.setNoDelay(true).on("connect", sendNext).on("error", reject);
      socket.on("data", (answer) => {
        if (answer.toString("latin1", 0, 10) !== "HTTP/1.1 2") return reject(new Error(`not 2xx: ${answer}`));
        sendNext();
      });
    });
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  return { seconds: (performance.now() - start) / 1000 };
}
