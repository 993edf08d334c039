import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import type { RunningServer } from "@esim-webhooks/conformance";

/** Serves `listener` on a free port of the loopback interface; `path` is where the endpoint is. */
export async function listen(
  listener: RequestListener | Server,
  path: string,
  shutDown: () => Promise<void>,
): Promise<RunningServer> {
  const server = typeof listener === "function" ? createServer(listener) : listener;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    shutDown,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers 200 with a body that ends when the client leaves. */
export function answerEndlessly(_request: IncomingMessage, response: ServerResponse): void {
  pipeline(endless, response, () => {}); // the error says that the client has left
}

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(64 * 1024, "a");
}
