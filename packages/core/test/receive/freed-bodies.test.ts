import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createReceiver, receiveRequest, type Target, writeReply } from "@esim-webhooks/core";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { afterEach, describe, expect, it } from "vitest";

const secret = newSecret();
const closeAll: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closeAll.splice(0)) await close();
});

/**
 * Sends a delivery with a body of `bytes` and more, and resolves to its status and to what its chunks have left, in bytes.
 * @param pauseAt sends the rest of the body once the server has its request, and so many bytes
 */
async function deliver(
  target: Target,
  bytes: number,
  {
    signedWith = secret,
    pauseAt = Number.POSITIVE_INFINITY,
    before = (_request: IncomingMessage) => {},
  } = {},
): Promise<{ readonly status: string; readonly left: number }> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  const someCame = Promise.withResolvers<void>();
  const receiver = createReceiver(target, { secret });
  const server = createServer(async (request, response) => {
    const { push } = request;
    request.push = (chunk, encoding) => {
      if (chunk !== null) {
        chunks.push(chunk);
        received += chunk.byteLength;
      }
      if (received >= pauseAt) someCame.resolve();
      return push.call(request, chunk, encoding);
    };
    before(request);
    if (pauseAt === 0) setImmediate(someCame.resolve);
    writeReply(response, await receiveRequest(receiver, request), receiver.closing);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  closeAll.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const data = { ...sampleData("esim.faulted"), detail: "x".repeat(bytes) };
  const { headers, body } = signedRequest({ type: "esim.faulted", data }, { secret: signedWith });
  const lines = Object.entries({ host: "test", ...headers, "content-length": String(body.length) });
  const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`POST /webhooks HTTP/1.1\r\n${fields}\r\n${body.slice(0, pauseAt)}`);
  if (pauseAt < body.length) {
    await someCame.promise;
    socket.write(body.slice(pauseAt));
  }
  const [answer] = (await once(socket, "data")) as [Buffer];
  return {
    status: answer.toString().slice("HTTP/1.1 ".length, "HTTP/1.1 200".length),
    left: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
  };
}

describe("the memory of a long body", () => {
  it("is freed once handlers have its event, whether it came with its headers or in pieces", async () => {
    expect(await deliver({ "*": () => {} }, 20_000)).toEqual({ status: "200", left: 0 });
    expect(await deliver({ "*": () => {} }, 20_000, { pauseAt: 10_000 })).toEqual({ status: "200", left: 0 });
  });

  it("is freed before a handler has ended", async () => {
    const finish = Promise.withResolvers<void>();
    setImmediate(finish.resolve);
    expect(await deliver({ "*": () => finish.promise }, 20_000)).toEqual({ status: "200", left: 0 });
  });

  it("is freed when it is forged", async () => {
    const forged = { signedWith: newSecret() };
    expect(await deliver(memoryInbox(), 20_000, forged)).toEqual({ status: "401", left: 0 });
    expect(await deliver({ "*": () => {} }, 20_000, { ...forged, pauseAt: 10_000 })).toEqual({
      status: "401",
      left: 0,
    });
  });

  it("is left to an inbox, which keeps the bytes", async () => {
    const inbox = memoryInbox();
    const { status, left } = await deliver(inbox, 20_000);
    expect(status).toBe("202");
    expect(left).toBeGreaterThan(20_000);
    const [taken] = await inbox.take({ limit: 1, leaseMs: 1_000 });
    expect(taken?.body?.byteLength).toBe(left);
  });

  it("is left to a host that listens too", async () => {
    const heard: Uint8Array[] = [];
    const before = (request: IncomingMessage) => void request.on("data", (chunk) => heard.push(chunk));
    const { status, left } = await deliver({ "*": () => {} }, 20_000, { before, pauseAt: 0 });
    expect(status).toBe("200");
    expect(left).toBeGreaterThan(20_000);
    expect(Buffer.concat(heard).byteLength).toBe(left);
  });
});
