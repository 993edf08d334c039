import { connect, createServer, Socket } from "node:net";
import type { BullmqInbox } from "@esim-webhooks/queue-bullmq";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterEach, expect, it, vi } from "vitest";
import { privateRedis, startProxy, type TestProxy } from "../../../test/servers/index.ts";
import { freePort } from "../../../test/servers/kept-server.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { entryOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { opened, openInbox, keepClient } = openersOn(() => redis.server.url);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const stored = (inbox: BullmqInbox) => inbox.put([entryOf()]).catch((error: Error) => error.message);

/** A proxy that ends at the second INFO of its connection, which is the first one after ioredis is ready. */
async function endingProxy(): Promise<TestProxy> {
  let infos = 0;
  const proxy = await startProxy(redis.server, {
    request(bytes) {
      const isInfo = /\binfo\b/i.test(bytes.toString("latin1"));
      if (isInfo) infos += 1;
      if (!isInfo || infos !== 2) return bytes;
      proxy.refuse();
      return "cut";
    },
  });
  opened.push(proxy);
  return proxy;
}

it.each(["its own connection", "a client that was passed"])(
  "stores events after Redis restarted while the receiver started, on %s",
  async (which) => {
    const { url, accept } = await endingProxy();
    const client = keepClient(new Redis(url, { maxRetriesPerRequest: 1, lazyConnect: true }));
    const on = vi.spyOn(Queue.prototype, "on");
    const inbox = openInbox({ connection: which === "its own connection" ? url : client });
    const [queue] = on.mock.contexts as [Queue];
    let closes = 0;
    const givenUp = Promise.withResolvers<void>();
    queue.on("ioredis:close", () => {
      closes += 1; // with one retry for a command, ioredis gives it up at the second reconnect that is refused
      if (closes === 4) givenUp.resolve();
    });
    void stored(inbox);
    await givenUp.promise;
    accept();
    await expect.poll(() => stored(inbox), { timeout: 30_000 }).toEqual(["stored"]);
  },
);

it("stores events once Redis is there, on a client that was passed and connects lazily", async () => {
  const port = await freePort();
  const client = keepClient(
    new Redis({ port, maxRetriesPerRequest: 1, lazyConnect: true, retryStrategy: () => 50 }),
  );
  const inbox = openInbox({ connection: client, timeoutMs: 500 });
  expect(await stored(inbox)).toMatch(/did not answer|could not be reached/);
  const proxy = createServer((socket) => {
    const upstream = connect(Number(new URL(redis.server.url).port), "127.0.0.1");
    socket.pipe(upstream).pipe(socket);
    opened.push({ close: () => [socket, upstream].map((each) => each.destroy()) });
  }).listen(port, "127.0.0.1");
  opened.push({ close: () => proxy.close() });
  await expect.poll(() => stored(inbox), { timeout: 30_000 }).toEqual(["stored"]);
});

it("keeps nothing of a check that timed out: no listener, and no check when Redis is back", async () => {
  const on = vi.spyOn(Queue.prototype, "on");
  const own = await privateRedis();
  opened.push(own);
  await own.kill();
  const inbox = openInbox({ connection: own.url, timeoutMs: 50 });
  const queue = on.mock.contexts[0] as Queue;
  const listeners = queue.listenerCount("error");
  for (let n = 0; n < 20; n += 1) await stored(inbox);
  await expect.poll(() => queue.listenerCount("error")).toBe(listeners);

  await own.start();
  await queue.waitUntilReady();
  const reader = keepClient(new Redis(own.url));
  let puts = 0;
  const put = () => {
    puts += 1;
    return stored(inbox);
  };
  await expect.poll(put, { timeout: 30_000 }).toEqual(["stored"]);
  const [, checks] = /config\|get:calls=(\d+)/.exec(await reader.info("commandstats")) ?? [];
  expect(Number(checks)).toBeLessThanOrEqual(puts + 1);
});

it("sends the puts of an event-loop tick in one write to the socket", async () => {
  vi.useFakeTimers({ toFake: ["performance"] }); // no look at the server's settings in between
  const inbox = openInbox();
  await stored(inbox);
  const alone = vi.spyOn(Socket.prototype, "_write");
  const together = vi.spyOn(Socket.prototype as never as { _writev(chunks: unknown[]): void }, "_writev");
  await Promise.all(Array.from({ length: 30 }, () => stored(inbox)));
  expect(alone).not.toHaveBeenCalled();
  expect(together.mock.calls.map(([chunks]) => chunks.length)).toEqual([30]);
});

it("answers each put when the connection is cut while the writes of a tick are gathered", async () => {
  const inbox = openInbox();
  await stored(inbox);
  const cork = vi.spyOn(Socket.prototype, "cork");
  cork.mockImplementationOnce(function (this: Socket) {
    cork.mockRestore();
    this.cork();
    sockets.push(this);
    queueMicrotask(() => this.destroy());
  });
  const sockets: Socket[] = [];
  const entries = Array.from({ length: 30 }, () => entryOf());
  const results = await Promise.allSettled(entries.map((entry) => inbox.put([entry])));
  expect(results).toHaveLength(30);
  expect(sockets.map((socket) => [socket.destroyed, socket.writableCorked])).toEqual([[true, 0]]);
  const again = await Promise.all(entries.map((entry) => inbox.put([entry])));
  expect(again.flat().every((result) => result === "stored" || result === "already_stored")).toBe(true);
  expect(await inbox.count({ state: "ready" })).toBe(31);
});
