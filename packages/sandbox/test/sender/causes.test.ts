import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { testService } from "../service.ts";
import { startEndpoint } from "./endpoint.ts";
import { startSending } from "./sending.ts";

const closed: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closed.splice(0)) await close();
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that does this as soon as bytes come. */
async function onBytes(act: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => act(socket));
    closed.push(async () => socket.destroy());
  });
  closed.push(async () => server.close());
  return `http://127.0.0.1:${await portOf(server)}/webhooks`;
}

async function refusing(): Promise<string> {
  const server = createServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/webhooks`;
}

async function withoutCertificate(): Promise<string> {
  const server = createTlsServer(() => {});
  closed.push(async () => server.close());
  return `https://127.0.0.1:${await portOf(server)}/webhooks`;
}

async function answering(status: number): Promise<string> {
  const endpoint = await startEndpoint(() => status);
  closed.push(async () => endpoint[Symbol.asyncDispose]());
  return endpoint.url;
}

/** Sends one event there. Returns its delivery after the first attempt, as the listing shows it. */
async function firstAttempt(url: string, switches = {}) {
  const service = testService(switches);
  await using sending = startSending(service);
  const endpoint = sending.register(url);
  sending.emit();
  await sending.sender.settle();
  const [delivery] = sending.list(endpoint);
  return { ...delivery, retryInMs: Date.parse(delivery?.nextRetryAt ?? "") - service.clock.now() };
}

const noAnswer = {
  status: "failed",
  attemptNumber: 1,
  httpStatus: null,
  responseBody: null,
  retryInMs: 30_000,
};

test.each<[string, () => Promise<string>]>([
  ["a host that DNS does not know", async () => "http://nowhere.invalid/webhooks"],
  ["a connection that is refused", refusing],
  ["a connection that is reset", () => onBytes((socket) => socket.resetAndDestroy())],
  ["a connection that is closed without an answer", () => onBytes((socket) => socket.end())],
  ["an answer that is not HTTP", () => onBytes((socket) => socket.end("what?\r\n\r\n"))],
  ["a TLS handshake that fails", withoutCertificate],
  ["TLS to a server that speaks none", async () => (await answering(200)).replace("http:", "https:")],
  ["an endpoint that does not answer", () => onBytes(() => {})],
  [
    "an endpoint that stops before its final status",
    () => onBytes((s) => s.write("HTTP/1.1 103 Early Hints\r\n\r\n")),
  ],
])("tries again after %s", async (_, start) => {
  expect(await firstAttempt(await start(), { answerLimitMs: 300 })).toMatchObject(noAnswer);
});

test.each([500, 501, 502, 503, 504, 520, 599, 408])("tries again after a %i", async (status) => {
  expect(await firstAttempt(await answering(status))).toMatchObject({
    ...noAnswer,
    httpStatus: status,
    responseBody: "answer 1",
  });
});

test.each([300, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 425, 429, 451, 499])(
  "does not try again after a %i",
  async (status) => {
    const url = await answering(status);
    const ended = { attemptNumber: 1, httpStatus: status, nextRetryAt: null, deliveredAt: null };
    expect(await firstAttempt(url)).toMatchObject({ ...ended, status: "failed" });
    expect(await firstAttempt(url, { nonRetryable: "exhausted" })).toMatchObject({
      ...ended,
      status: "exhausted",
    });
  },
);

test.each([200, 201, 202, 204, 206, 299])("has delivered after a %i", async (status) => {
  expect(await firstAttempt(await answering(status))).toMatchObject({
    status: "delivered",
    attemptNumber: 1,
    httpStatus: status,
    nextRetryAt: null,
    deliveredAt: expect.any(String),
  });
});

test("a status counts even if its body never ends", async () => {
  const url = await onBytes((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
  expect(await firstAttempt(url, { answerLimitMs: 2000 })).toMatchObject({
    status: "delivered",
    httpStatus: 200,
    responseBody: "half",
  });
});

test("keeps 4 KiB of an answer, and does not read one without end", async () => {
  await using endpoint = await startEndpoint((_n, _got, response) => {
    response.writeHead(200);
    const writeOn = () => {
      while (!response.destroyed && response.write("x".repeat(10_000)));
    };
    response.on("drain", writeOn);
    writeOn();
  });
  const delivery = await firstAttempt(endpoint.url);
  expect(delivery).toMatchObject({ status: "delivered", responseBody: "x".repeat(4096) });
});

test("by default a redirect ends the delivery; by switch it is followed, with the same headers and body", async () => {
  await using target = await startEndpoint();
  await using endpoint = await startEndpoint((_n, _got, response) => {
    response.writeHead(307, { location: target.url }).end();
  });
  expect(await firstAttempt(endpoint.url)).toMatchObject({
    status: "failed",
    httpStatus: 307,
    nextRetryAt: null,
  });
  expect(target.got).toHaveLength(0);
  expect(await firstAttempt(endpoint.url, { redirects: "follow" })).toMatchObject({
    status: "delivered",
    httpStatus: 200,
  });
  const [followed] = target.got;
  const redirected = endpoint.got[1];
  expect(followed?.body).toBe(redirected?.body);
  expect(followed?.headers["webhook-signature"]).toBe(redirected?.headers["webhook-signature"]);
});

test("a redirect in a circle ends the delivery", async () => {
  await using endpoint = await startEndpoint((_n, _got, response) => {
    response.writeHead(302, { location: "/webhooks" }).end();
  });
  expect(await firstAttempt(endpoint.url, { redirects: "follow" })).toMatchObject({
    status: "failed",
    httpStatus: 302,
    nextRetryAt: null,
  });
  expect(endpoint.got).toHaveLength(6);
});

test("redirects that are followed share the time of one answer", async () => {
  await using endpoint = await startEndpoint((_n, _got, response) => {
    setTimeout(() => response.writeHead(302, { location: "/webhooks" }).end(), 300);
    return undefined;
  });
  expect(await firstAttempt(endpoint.url, { redirects: "follow", answerLimitMs: 500 })).toMatchObject(
    noAnswer,
  );
});

test.each(["ftp://127.0.0.1/", "mailto:somebody@example.com", "http://", "data:,"])(
  "a redirect to %s is the answer, even if redirects are followed",
  async (location) => {
    await using endpoint = await startEndpoint((_n, _got, response) => {
      response.writeHead(302, { location }).end();
    });
    expect(await firstAttempt(endpoint.url, { redirects: "follow" })).toMatchObject({
      status: "failed",
      httpStatus: 302,
      nextRetryAt: null,
    });
  },
);
