import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import {
  createReceiver,
  type Delivery,
  nodeDelivery,
  receiveRequest,
  type Target,
  writeReply,
} from "@esim-webhooks/core";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { receiverWith } from "../../src/receive/receiver.ts";
import { createVerifier } from "../../src/receive/verifier.ts";

expectWarnings("no_matching_key");

const secret = newSecret();
const handlers: Target = { "*": () => {} };
const closeAll: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closeAll.splice(0)) await close();
});

/** A signed delivery with a body of `bytes` and some hundred more. */
function signed(bytes: number, signedWith = secret) {
  return signedDelivery(signedWith, { data: { detail: "x".repeat(bytes) } });
}

/** Posts a delivery to a server of its own, and resolves to the answer's status. Pauses after `pauseAt` bytes, until they are pushed. */
async function post(
  { headers, body }: ReturnType<typeof signed>,
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  pauseAt = body.length,
): Promise<string> {
  const someCame = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const { push } = request;
    request.push = (chunk, encoding) => {
      someCame.resolve();
      return push.call(request, chunk, encoding);
    };
    handle(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  closeAll.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const lines = Object.entries({ host: "test", ...headers, "content-length": String(body.length) });
  const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`POST /webhooks HTTP/1.1\r\n${fields}\r\n${body.slice(0, pauseAt)}`);
  if (pauseAt < body.length) {
    await someCame.promise;
    socket.write(body.slice(pauseAt));
  }
  const [answer] = (await once(socket, "data")) as [Buffer];
  return answer.toString().slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
}

const bytesOf = (chunks: readonly Uint8Array[]) =>
  chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);

describe("bytes that somebody else may hold are never emptied", () => {
  const wraps = {
    push(request: IncomingMessage, kept: Uint8Array[]) {
      const { push } = request;
      request.push = (chunk, encoding) => {
        if (chunk !== null) kept.push(chunk);
        return push.call(request, chunk, encoding);
      };
    },
    emit(request: IncomingMessage, kept: Uint8Array[]) {
      const { emit } = request;
      request.emit = (name: string, ...values: unknown[]) => {
        if (name === "data") kept.push(values[0] as Uint8Array);
        return emit.call(request, name, ...values);
      };
    },
  };

  for (const [name, wrap] of Object.entries(wraps)) {
    it(`chunks that a middleware on req.${name} has kept are whole after the answer`, async () => {
      for (const signedWith of [secret, newSecret()]) {
        for (const pauseAt of [undefined, 6_000]) {
          const kept: Uint8Array[] = [];
          const receiver = createReceiver(handlers, { secret });
          const given = signed(20_000, signedWith);
          const status = await post(
            given,
            async (request, response) => {
              wrap(request, kept);
              writeReply(response, await receiveRequest(receiver, request), receiver.closing);
            },
            pauseAt,
          );
          expect(status).toBe(signedWith === secret ? "200" : "401");
          expect(Buffer.concat(kept).toString()).toContain(given.body);
        }
      }
    });
  }

  it("several receivers on one path get the body of one nodeDelivery", async () => {
    const given = signed(5 * 1024);
    const statuses: number[] = [];
    const lengths: unknown[] = [];
    const target: Target = { "esim.faulted": ({ data }) => void lengths.push(String(data.detail).length) };
    const receivers = [newSecret(), secret, secret].map((one) => createReceiver(target, { secret: one }));
    await post(given, async (request, response) => {
      await undefined; // the body came with the headers
      const { method, headers, body } = nodeDelivery(request);
      for (const { receive } of receivers) statuses.push((await receive({ method, headers, body })).status);
      response.end();
    });
    expect(statuses).toEqual([401, 200, 200]);
    expect(lengths).toEqual([5 * 1024, 5 * 1024]);
  });

  it("bytes that an inbox has stored are whole, also when another receiver gets them later", async () => {
    for (const pauseAt of [undefined, 6_000]) {
      const given = signed(20_000);
      const stored: (Uint8Array | undefined)[] = [];
      const inbox: Target = {
        async put(entries) {
          stored.push(...entries.map(({ body }) => body));
          return entries.map(() => "stored" as const);
        },
      };
      const receiver = createReceiver(inbox, { secret });
      const status = await post(
        given,
        async (request, response) =>
          writeReply(response, await receiveRequest(receiver, request), receiver.closing),
        pauseAt,
      );
      expect(status).toBe("202");
      const again: Delivery = { ...given, body: stored[0] ?? "" };
      const later = [secret, newSecret()].map((one) => createReceiver(handlers, { secret: one }));
      for (const { receive } of [...later, ...later, receiver]) await receive(again);
      expect(Buffer.from(again.body as Uint8Array).toString()).toBe(given.body);
    }
  });

  it("bytes that the caller gave are the caller's, forged or not", async () => {
    const { method, headers, body } = signed(20_000);
    const bytes = new Uint8Array(Buffer.from(body));
    for (const one of [newSecret(), secret]) {
      await createReceiver(handlers, { secret: one }).receive({ method, headers, body: bytes });
      expect(bytes.byteLength).toBe(body.length);
    }
  });
});

describe("the receiver's own copy of a body that came in chunks", () => {
  /** Reads `chunks` as a body, and resolves to the status, with the bytes that the signature was compared with. */
  async function receiveChunks(target: Target, signedWith: string, cut: (body: Buffer) => Uint8Array[]) {
    const { method, headers, body } = signed(40_000, signedWith);
    const chunks = cut(Buffer.from(body));
    let compared: Uint8Array = new Uint8Array();
    const receiver = receiverWith(
      (...given) => {
        const verifier = createVerifier(...given);
        return {
          ...verifier,
          verify(fields, bytes, atMs) {
            compared = bytes;
            return verifier.verify(fields, bytes, atMs);
          },
        };
      },
      target,
      { secret },
    );
    const { status } = await receiver.receive({
      method,
      headers,
      body: () => (sink) => {
        for (const chunk of chunks) sink.add(chunk);
        sink.end();
        return () => {};
      },
    });
    return { status, left: compared.byteLength, ofChunks: bytesOf(chunks), sent: body.length };
  }

  const halves = (body: Buffer) => [body.subarray(0, 30_000), body.subarray(30_000)];

  it("is freed once it is refused, before an inbox, too, and the chunks are left as they are", async () => {
    for (const target of [handlers, memoryInbox()]) {
      const { status, left, ofChunks, sent } = await receiveChunks(target, newSecret(), halves);
      expect({ status, left, ofChunks }).toEqual({ status: 401, left: 0, ofChunks: sent });
    }
  });

  it("is not freed when it is accepted, since a catalog or an inbox may keep it", async () => {
    for (const [target, expected] of [[handlers, 200] as const, [memoryInbox(), 202] as const]) {
      const { status, left, sent } = await receiveChunks(target, secret, halves);
      expect({ status, left }).toEqual({ status: expected, left: sent });
    }
  });

  it("is not made of a body in one chunk, nor of none: nothing is freed when that is refused", async () => {
    const one = await receiveChunks(handlers, newSecret(), (body) => [body]);
    expect([one.status, one.left]).toEqual([401, one.sent]);
    for (let time = 1; time <= 2; time++) {
      expect((await receiveChunks(handlers, newSecret(), () => [])).status).toBe(401);
      expect(
        (await receiveChunks(handlers, newSecret(), () => [Buffer.alloc(0), Buffer.alloc(0)])).status,
      ).toBe(401);
    }
  });

  it("is not freed when it shares its memory with other buffers of Node.js", async () => {
    const before = Buffer.allocUnsafe(100).fill("y");
    const short = await receiveChunks(handlers, newSecret(), (body) => [
      body.subarray(0, 100),
      body.subarray(0, 100),
    ]);
    expect(short).toMatchObject({ status: 401, left: 200 });
    expect(before.toString()).toBe("y".repeat(100));
  });
});
