import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
