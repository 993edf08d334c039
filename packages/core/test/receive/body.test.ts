import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { type createReceiver, nodeHandler, sign, webhookHandler } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { byteBuffer } from "../../src/base/byte-buffer.ts";

expectWarnings("body_consumed");

const secret = newSecret();
const body = JSON.stringify({
  type: "esim.faulted",
  timestamp: "2026-11-20T12:00:00Z",
  data: { profileReference: "1", esimReference: "2", reason: "unknown", note: "żółć 🛰️".repeat(20) },
});

function signed() {
  return sign({ id: `msg_${Math.random()}`, body }, secret);
}

async function outcomeOf(response: Response): Promise<string> {
  const { outcome, code } = (await response.json()) as { outcome?: string; code?: string };
  return `${response.status} ${outcome ?? code}`;
}

/** A server that calls `before`, and then the receiver. */
async function behind<T>(
  before: (request: IncomingMessage, response: ServerResponse, next: () => void) => void,
  use: (url: string, errors: string[]) => Promise<T>,
): Promise<T> {
  const errors: string[] = [];
  const logger = loggerWith({ error: (_, message) => errors.push(message) });
  const slow = { "*": () => new Promise<void>((resolve) => setTimeout(resolve, 20)) };
  const handler = nodeHandler(slow, { secret, logger });
  const server = await listen(
    createServer((request, response) => before(request, response, () => handler(request, response))),
    "/",
    handler.close,
  );
  try {
    return await use(server.url, errors);
  } finally {
    await server.close();
  }
}

describe("byteBuffer", () => {
  it("gives back what was put in, however it was cut, up to the limit and not beyond it", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3000 })), fc.nat(6000), (chunks, limit) => {
        const buffer = byteBuffer(limit);
        const all = Buffer.concat(chunks);
        expect(chunks.every((chunk) => buffer.add(chunk))).toBe(all.byteLength <= limit);
        if (all.byteLength <= limit) expect(Buffer.compare(buffer.bytes(), all)).toBe(0);
      }),
    );
  });

  it("takes memory for the bytes and not for the chunks: a million chunks of one byte", () => {
    const buffer = byteBuffer(1024 * 1024);
    const before = process.memoryUsage();
    const one = Buffer.from("x");
    for (let i = 0; i < 1024 * 1024; i++) buffer.add(one);
    const after = process.memoryUsage();
    expect(buffer.bytes().byteLength).toBe(1024 * 1024);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 * 1024 * 1024);
  });
});

describe("a fetch request's body", () => {
  it("verifies however the stream is cut into chunks", async () => {
    const bytes = Buffer.from(body);
    const handler = webhookHandler({ "*": () => {} }, { secret });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.byteLength), { maxLength: 20 }), async (cuts) => {
        const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.byteLength];
        const stream = new ReadableStream({
          start(controller) {
            for (const [index, edge] of edges.slice(1).entries())
              controller.enqueue(bytes.subarray(edges[index], edge));
            controller.close();
          },
        });
        const request = new Request("http://localhost/", {
          method: "POST",
          headers: signed(),
          body: stream,
          duplex: "half",
        } as RequestInit);
        expect(await outcomeOf(await handler(request))).toBe("200 processed");
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["read", async (request: Request) => void (await request.text())],
    ["locked by a reader", async (request: Request) => void request.body?.getReader()],
  ])("is said to be consumed when it was %s before", async (_, consume) => {
    const request = new Request("http://localhost/", { method: "POST", headers: signed(), body });
    await consume(request);
    const handler = webhookHandler({ "*": () => {} }, { secret });
    expect(await outcomeOf(await handler(request))).toBe("500 body_consumed");
  });
});

describe("a body that was parsed before it reaches createReceiver", () => {
  const deliver = (core: { createReceiver: typeof createReceiver }) =>
    core.createReceiver({ "*": () => {} }, { secret }).receive({
      method: "POST",
      headers: signed(),
      body: JSON.parse(body),
    });
  const hint = "A body must be a string or a Uint8Array; got Object. Pass the raw bytes as received";

  it("is answered 500 body_consumed, with a process warning when there is no logger", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    vi.resetModules(); // a process is warned once
    const { status, outcome } = await deliver(await import("@esim-webhooks/core"));
    expect([status, outcome.code]).toEqual([500, "body_consumed"]);
    expect(warn.mock.calls.flat()).toContainEqual(expect.stringContaining(hint));
  });
});

describe("a Node.js request", () => {
  const post = (url: string) => fetch(url, { method: "POST", headers: signed(), body });

  it("that was turned into text is refused with a hint, and the process goes on", async () => {
    const toText = (request: IncomingMessage, _: unknown, next: () => void) => {
      request.setEncoding("utf8");
      next();
    };
    await behind(toText, async (url, errors) => {
      expect(await outcomeOf(await post(url))).toBe("500 body_consumed");
      expect(errors[0]).toMatch(/made text by request\.setEncoding\(\)/);
    });
  });

  it("that was paused on its way is read", async () => {
    const paused = (request: IncomingMessage, _: unknown, next: () => void) => {
      request.pause();
      setImmediate(next);
    };
    await behind(paused, async (url) => expect(await outcomeOf(await post(url))).toBe("200 processed"));
  });

  it("that somebody else has answered meanwhile is left at that, and the process goes on", async () => {
    const impatient = (_: unknown, response: ServerResponse, next: () => void) => {
      next();
      response.writeHead(504).end("{}");
    };
    await behind(impatient, async (url) => {
      expect((await post(url)).status).toBe(504);
      expect((await post(url)).status).toBe(504);
    });
  });

  /** A connection that is answered 400 at once, and goes on sending, a byte at a time. Resolves when it is answered. */
  const dripping = async (url: string) => {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    const answered = new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
    socket.on("error", () => {});
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
    const drip = setInterval(() => socket.write("x"), 10);
    void ended.then(() => clearInterval(drip));
    expect(await answered).toMatch(/^HTTP\/1\.1 400 /);
    return { ended };
  };

  it("that is refused may send for 5 s more, however slowly, and then is cut off", async () => {
    await behind(
      (_, __, next) => next(),
      async (url) => {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        try {
          let isCut = false;
          const { ended } = await dripping(url);
          const cut = ended.then(() => {
            isCut = true;
          });
          await vi.advanceTimersByTimeAsync(4_999);
          await fetch(url); // the server has had the time to cut it
          expect(isCut).toBe(false);
          await vi.advanceTimersByTimeAsync(1);
          await cut;
        } finally {
          vi.useRealTimers();
        }
      },
    );
  });

  it("that is refused is cut off when the receiver closes, also when there are many", async () => {
    const handler = nodeHandler({ "*": () => {} }, { secret });
    const server = await listen(handler, "/", handler.close);
    const clients = await Promise.all(Array.from({ length: 20 }, () => dripping(server.url)));
    await handler.close();
    await Promise.all(clients.map(({ ended }) => ended));
    await server.close();
  });

  it("that is refused may send a little more, so that it reads the answer, and then is cut off", async () => {
    await behind(
      (_, __, next) => next(),
      async (url) => {
        const { port, hostname } = new URL(url);
        const socket = connect(Number(port), hostname);
        const answer = new Promise<string>((resolve) =>
          socket.once("data", (chunk) => resolve(String(chunk))),
        );
        const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
        socket.on("error", () => {});
        socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
        const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
        let sent = 0;
        const more = () => {
          while (!socket.destroyed && sent < 2 ** 30 && socket.write(chunk)) sent += 0x10000;
          sent += 0x10000;
        };
        socket.on("drain", more);
        more();
        expect(await answer).toMatch(/^HTTP\/1\.1 400 /);
        await closed;
        expect(sent).toBeLessThan(2 ** 30);
      },
    );
  });
});
