import { getEventListeners } from "node:events";
import { type Middleware, receiverSuite, type StartServer } from "@esim-webhooks/conformance";
import { observe } from "@esim-webhooks/core/observe";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { authentic, secret } from "./adversary/tools/deliveries.ts";
import { slowClient } from "./adversary/tools/slow-client.ts";
import { transports } from "./transports.ts";

for (const [name, startServer] of Object.entries(transports)) {
  receiverSuite(name, startServer, { describe: describe.concurrent, it });
}

it.each(Object.entries(transports))(
  "%s keeps nothing of uploads that were aborted",
  async (_, startServer) => {
    const { url, signals } = await startWatched(startServer);
    const listeners = () => signals.flatMap((signal) => getEventListeners(signal, "abort")).length;
    const before = listeners();
    const outcomes: string[] = [];
    onTestFinished(observe({ receive: ({ outcome }) => outcomes.push(String(outcome)) }));
    const { headers, body } = authentic();
    const uploads = Array.from({ length: 20 }, async () => {
      const client = await slowClient(url);
      client.begin(headers, body.length, body.slice(0, 20));
      return client;
    });
    for (const client of await Promise.all(uploads)) client.abort();
    await expect.poll(() => outcomes.length).toBe(20);
    expect((await fetch(url, authentic())).status).toBe(200); // by now, the adapter is done with the others
    expect(listeners()).toBe(before);
  },
);

/** Starts a server, with the signals of all that can be aborted in it. */
async function startWatched(
  startServer: StartServer,
): Promise<{ readonly url: string; readonly signals: readonly AbortSignal[] }> {
  const signals: AbortSignal[] = [];
  class Watched extends AbortController {
    constructor() {
      super();
      signals.push(this.signal);
    }
  }
  vi.stubGlobal("AbortController", Watched);
  const before: Middleware = async () => {};
  const server = await Promise.resolve(startServer({ "*": () => {} }, { secret }, before)).finally(() =>
    vi.unstubAllGlobals(),
  );
  onTestFinished(() => server.close());
  return { url: server.url, signals };
}
