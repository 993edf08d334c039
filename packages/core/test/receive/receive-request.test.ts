import { once } from "node:events";
import { createServer, IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { createReceiver, nodeDelivery, nodeHandler, receiveRequest, writeReply } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import type { BodyStream } from "../../src/receive/delivery.ts";

const secret = newSecret();
const closeAll: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closeAll.splice(0)) await close();
});

/** A server with a receiver, a connection to it, and the requests that the server has seen. */
async function connected() {
  const handled: string[] = [];
  const receiver = createReceiver({ "*": ({ id }) => void handled.push(id) }, { secret });
  const requests: IncomingMessage[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    writeReply(response, await receiveRequest(receiver, request), receiver.closing);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  closeAll.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { socket, requests, handled };
}

function delivery(id: string, detail = ""): { head: string; body: string } {
  const { headers, body } = signedDelivery(secret, { id, data: { detail } });
  const lines = Object.entries({ host: "test", ...headers, "content-length": String(body.length) });
  const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return { head: `POST /webhooks HTTP/1.1\r\n${fields}\r\n`, body };
}

/** The statuses of the next answers on a connection. */
async function statuses(socket: Socket, count: number): Promise<string[]> {
  let text = "";
  for (;;) {
    const found = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1] ?? "");
    if (found.length >= count) return found;
    const [chunk] = (await once(socket, "data")) as [Buffer];
    text += chunk.toString();
  }
}

describe("nodeHandler", () => {
  it("closes the connection, with a log line and no unhandled rejection, when the answer cannot be written", async () => {
    const lines: unknown[] = [];
    const logger = loggerWith({ error: (fields) => void lines.push(fields) });
    const handler = nodeHandler({ "*": () => {} }, { secret, logger });
    const broken = new Error("headers are frozen");
    const server = createServer((request, response) => {
      response.writeHead = () => {
        throw broken;
      };
      handler(request, response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    closeAll.push(() => server.close());
    const { head, body } = delivery("msg_1");
    socket.write(head + body);
    socket.resume();
    await once(socket, "close");
    expect(lines).toEqual([{ code: "reply_not_written", err: broken }]);
  });
});

describe("receiveRequest", () => {
  it("takes a body that came with its headers without listening for it, and lets the request end", async () => {
    const { socket, requests } = await connected();
    for (const n of [0, 1, 2]) {
      const { head, body } = delivery(`msg_${n}`);
      socket.write(head + body);
      expect(await statuses(socket, 1)).toEqual(["200"]);
      const request = requests[n];
      expect([request?.listenerCount("data"), request?.complete]).toEqual([0, true]);
      await expect.poll(() => request?.readableEnded && request.destroyed).toBe(true);
    }
  });

  it("waits for the rest of a body that comes in pieces, or apart from its headers", async () => {
    const { socket, requests, handled } = await connected();
    const first = delivery("msg_apart");
    socket.setNoDelay(true).write(first.head);
    await expect.poll(() => requests[0]?.listenerCount("data")).toBe(1);
    const someCame = once(requests[0] as IncomingMessage, "data");
    socket.write(first.body.slice(0, 10));
    await someCame;
    socket.write(first.body.slice(10));
    expect(await statuses(socket, 1)).toEqual(["200"]);
    const long = delivery("msg_long", "x".repeat(300_000));
    socket.write(long.head + long.body);
    expect(await statuses(socket, 1)).toEqual(["200"]);
    expect(handled).toEqual(["msg_apart", "msg_long"]);
  });

  it("answers deliveries that came in one packet one after the other", async () => {
    const { socket, handled } = await connected();
    const three = ["msg_a", "msg_b", "msg_c"].map((id) => delivery(id));
    socket.write(three.map(({ head, body }) => head + body).join(""));
    expect(await statuses(socket, 3)).toEqual(["200", "200", "200"]);
    expect(handled).toEqual(["msg_a", "msg_b", "msg_c"]);
  });

  it("does not listen to a request any more when its body is given up", () => {
    const request = new IncomingMessage(new Socket());
    const read = nodeDelivery(request).body as () => BodyStream;
    const listeners = () => ["data", "end", "close", "error"].map((event) => request.listenerCount(event));
    const before = listeners();
    const sink = { add: vi.fn(), end: vi.fn(), abandon: vi.fn(), consumed: vi.fn() };
    const stop = read()(sink);
    expect(listeners()).toEqual(before.map((count) => count + 1));
    request.emit("data", Buffer.from("{"));
    stop();
    expect(listeners()).toEqual(before);
    expect(sink.add.mock.calls).toEqual([[Buffer.from("{")]]);
  });

  it.each([
    ["error", "abandon"],
    ["close", "abandon"],
    ["end", "end"],
  ] as const)("ends a body at the request's %s: %s", (event, end) => {
    const request = new IncomingMessage(new Socket());
    const sink = { add: vi.fn(), end: vi.fn(), abandon: vi.fn(), consumed: vi.fn() };
    (nodeDelivery(request).body as () => BodyStream)()(sink);
    request.emit(event);
    expect([sink.end, sink.abandon, sink.consumed].map(({ mock }) => mock.calls.length)).toEqual(
      end === "end" ? [1, 0, 0] : [0, 1, 0],
    );
  });

  it("has no getter of its own, which V8 would keep with the request until it collects the whole heap", async () => {
    const { socket, requests } = await connected();
    const { head, body } = delivery("msg_getter");
    socket.write(head + body);
    expect(await statuses(socket, 1)).toEqual(["200"]);
    const own = Object.getOwnPropertyDescriptors(nodeDelivery(requests[0] as IncomingMessage));
    expect(Object.values(own).filter(({ get }) => get !== undefined)).toEqual([]);
  });
});

describe("writeReply", () => {
  const reply = { status: 405, headers: { allow: "POST" }, body: "{}" };
  const closing = new AbortController().signal;

  it("sends no body to a HEAD request, which a strict server would refuse to send", async () => {
    const server = createServer({ rejectNonStandardBodyWrites: true }, (_, response) =>
      writeReply(response, reply, closing),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    closeAll.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const answer = await fetch(url, { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-length")]).toEqual([405, "2"]);
  });

  it.each([{ headersSent: true }, { destroyed: true }])("writes nothing where %j", (state) => {
    const writeHead = vi.fn();
    writeReply({ ...state, writeHead } as never as ServerResponse, reply, closing);
    expect(writeHead).not.toHaveBeenCalled();
  });
});
