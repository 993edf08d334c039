import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { deliver, openSession } from "../../../../test/support/http2-client.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

const secret = newSecret();

/** A process that drains for an hour. Its handler of `esim.assigned` ends with `gate`. */
async function startRunner(open: (handler: ReturnType<typeof nodeHandler>) => Server | Http2Server) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const handlers = {
    "esim.faulted": () => {},
    "esim.assigned": () => {
      started.resolve();
      return gate.promise;
    },
  };
  const receiver = nodeHandler(handlers, { secret });
  const server = open(receiver);
  const stop = new AbortController();
  const ended = createRunner({ receiver, drainMs: 3_600_000 }).run({ signal: stop.signal, server });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { port, ended, gate, started: started.promise, stop: () => stop.abort() };
}

async function post(port: number, agent: Agent, type: "esim.faulted" | "esim.assigned") {
  const { headers, body } = signedDelivery(secret, { type });
  const sent = request({ method: "POST", port, host: "127.0.0.1", agent, headers }).end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return { status: answer.statusCode, connection: answer.headers.connection };
}

it("while a process drains, each answer closes its connection, also that of a delivery from before", async () => {
  const { port, ended, gate, started, stop } = await startRunner((handler) => createServer(handler));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  expect(await post(port, agent, "esim.faulted")).toEqual({ status: 200, connection: "keep-alive" });
  const before = post(port, agent, "esim.assigned");
  await started;
  stop();
  expect(await post(port, agent, "esim.faulted")).toEqual({ status: 200, connection: "close" });
  gate.resolve();
  expect(await before).toEqual({ status: 200, connection: "close" });
  await vi.advanceTimersByTimeAsync(3_600_000);
  vi.useRealTimers();
  await ended;
});

it("while a process drains, sessions of HTTP/2 get GOAWAY and still deliver, and they end with it", async () => {
  const { port, ended, stop } = await startRunner((handler) => createHttp2Server(handler));
  const session = openSession(port);
  expect(await deliver(session, "/", secret)).toBe(200);
  const goaway = once(session, "goaway");
  const closed = once(session, "close");
  stop();
  expect((await goaway).slice(0, 2)).toEqual([0, 2 ** 31 - 1]);
  const late = openSession(port);
  const lateGoaway = once(late, "goaway");
  expect(await deliver(late, "/", secret)).toBe(200);
  await lateGoaway;
  await vi.advanceTimersByTimeAsync(3_600_000);
  vi.useRealTimers();
  await Promise.all([closed, ended]);
});

it("ends the sessions of HTTP/2 whose streams do not end, once shutdownMs is over", async () => {
  const receiver = nodeHandler({ "*": () => {} }, { secret });
  const server = createHttp2Server((request, response) => {
    if (request.url === "/") receiver(request, response); // the others are never answered
  });
  const stop = new AbortController();
  const ended = createRunner({ receiver, shutdownMs: 1 }).run({ signal: stop.signal, server });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const session = openSession((server.address() as AddressInfo).port);
  const stream = session.request({ ":path": "/other" }).on("error", () => {});
  const closed = Promise.all([once(session, "close"), once(stream, "close")]);
  expect(await deliver(session, "/", secret)).toBe(200);
  stop.abort();
  await Promise.all([closed, ended]);
});
