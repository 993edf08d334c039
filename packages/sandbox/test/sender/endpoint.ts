import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A delivery as an endpoint got it. */
export interface Got {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** By the service's clock, if it was given one. */
  readonly at: number;
}

export interface TestEndpoint extends AsyncDisposable {
  readonly url: string;
  readonly got: readonly Got[];
  /** How many requests were cut before their end. */
  cut(): number;
}

/** What an endpoint answers to the n-th request, from 1 on: a status; or nothing, but for what this writes by itself. */
export type Behaviour = (n: number, got: Got, response: ServerResponse) => number | undefined;

/** An endpoint on loopback that remembers what it got. */
export async function startEndpoint(
  behaviour: Behaviour = () => 200,
  clock: { now(): number } = Date,
): Promise<TestEndpoint> {
  const got: Got[] = [];
  let cut = 0;
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = {
      path: request.url ?? "",
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
      at: clock.now(),
    };
    got.push(one);
    const status = behaviour(got.length, one, response);
    if (typeof status === "number") response.writeHead(status).end(`answer ${got.length}`);
  }
  const server = createServer((request, response) => {
    receive(request, response).catch(() => cut++);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    got,
    cut: () => cut,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
