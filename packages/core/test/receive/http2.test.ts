import { once } from "node:events";
import { type ClientHttp2Session, createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { deliver, openSession, sendUnended } from "../../../../test/support/http2-client.ts";
import { loggerTo } from "../../../../test/support/loggers.ts";

const secret = newSecret();
const event = { type: "esim.faulted", data: sampleData("esim.faulted") };

async function sessionTo(server: Http2Server): Promise<ClientHttp2Session> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return openSession((server.address() as AddressInfo).port);
}

it("closes the streams of refused requests on HTTP/2 after their answers, and serves the others of their session", async () => {
  const handler = nodeHandler({ "*": () => {} }, { secret });
  const session = await sessionTo(createServer(handler));
  const { headers: signed } = signedRequest(event, { secret });
  for (const [status, headers] of [
    [400, {}],
    [503, { ...signed, "content-length": "2000000" }], // too large
  ] as const) {
    const refused = Array.from({ length: 200 }, () => sendUnended(session, "/", headers));
    const delivered = Array.from({ length: 50 }, () => deliver(session, "/", secret));
    expect(new Set(await Promise.all(delivered))).toEqual(new Set([200]));
    for (const each of await Promise.all(refused)) expect(each).toEqual({ status, code: 0 });
  }
  await handler.close();
  expect(await sendUnended(session, "/", signed)).toEqual({ status: 503, code: 0 });
  expect(session.closed).toBe(false);
});

it("closes the stream of a body on HTTP/2 that is found too large while it arrives, whose sender fills the session", async () => {
  const handler = nodeHandler({ "*": () => {} }, { secret, maxBodyBytes: 4096 });
  const closed: Promise<number>[] = [];
  const server = createServer((request, response) => {
    const { stream } = request;
    closed.push(once(stream, "close").then(() => stream.rstCode ?? -1));
    handler(request, response);
  });
  const session = await sessionTo(server);
  const { headers } = signedRequest(event, { secret });
  const answered = Array.from({ length: 40 }, async () => {
    const stream = session.request({ ":method": "POST", ":path": "/", ...headers });
    stream.resume().write(Buffer.alloc(16 * 1024));
    const [answer] = await once(stream, "response");
    return answer[":status"];
  });
  expect(new Set(await Promise.all(answered))).toEqual(new Set([503]));
  expect(new Set(await Promise.all(closed))).toEqual(new Set([0]));
  expect(await deliver(session, "/", secret)).toBe(200);
});

it("says that a client on HTTP/2 left, also before the receiver has read its body", async () => {
  const { headers, body } = signedRequest(event, { secret });
  for (const moment of ["before", "while"]) {
    const logged = Promise.withResolvers<Record<string, unknown>>();
    const handler = nodeHandler({ "*": () => {} }, { secret, logger: loggerTo(logged.resolve) });
    const server = createServer((request, response) => {
      if (moment === "while") handler(request, response);
      else request.stream.once("close", () => setImmediate(() => handler(request, response)));
    });
    const session = await sessionTo(server);
    const stream = session.request({
      ":method": "POST",
      ":path": "/",
      ...headers,
      "content-length": body.length,
    });
    stream.on("error", () => {}).write(body.slice(0, 20));
    await once(server, "request");
    stream.close(8); // CANCEL
    expect(await logged.promise).toMatchObject({ outcome: "body_incomplete" });
  }
});

it("closes a stream whose client lets no answer through, 5 s later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const handler = nodeHandler({ "*": () => {} }, { secret });
  const session = await sessionTo(createServer(handler));
  session.settings({ initialWindowSize: 0 });
  await once(session, "localSettings");
  const stream = session.request({ ":method": "POST", ":path": "/" });
  stream.on("error", () => {}).write("x");
  const closed = once(stream, "close");
  await once(stream, "response");
  await vi.advanceTimersByTimeAsync(5000);
  await closed;
});
