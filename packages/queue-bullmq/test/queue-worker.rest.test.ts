import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { EsimEvents, Handlers } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import { type BullmqInbox, bullmqInbox, type QueueWorkerOptions } from "@esim-webhooks/queue-bullmq";
import type { Queue } from "bullmq";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { key } from "../../../test/inbox-entry.ts";
import { runNode } from "../../../test/run.ts";
import { privateRedis, type TestServer } from "../../../test/servers/index.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { entryOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { opened, openInbox, openQueue } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { attempts: 1 } });
  queue = openQueue();
});

/** Runs a worker of the inbox, until the test ends or `stop` is called. */
function run(handlers: Handlers<EsimEvents>, options: QueueWorkerOptions = {}): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = inbox.createWorker(handlers, options).run({ signal: stopping.signal });
  const stop = () => {
    stopping.abort();
    return running;
  };
  opened.push({ close: stop });
  return { stop };
}

it("aborts a handler's signal when its job's lock was lost", async () => {
  await inbox.put([entryOf("msg_1")]);
  const reason = Promise.withResolvers<unknown>();
  const worker = run({
    "*": async (_event, { signal }) => {
      await redis.admin.del(...(await redis.admin.keys("bull:events:*:lock"))); // BullMQ renews it every 15 s
      if (!signal.aborted) await once(signal, "abort");
      reason.resolve(signal.reason);
    },
  });
  expect(await reason.promise).toBeDefined();
  await worker.stop();
});

it("makes an event dead whose handler runs too long at its last attempt, and takes no others while it still runs", async () => {
  await inbox.put([entryOf("msg_1")]);
  const hangs = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const errors: string[] = [];
  const logger = loggerWith({
    warn: (_, message) => message.startsWith("A handler that was abandoned has ended") && ended.resolve(),
    error: (_, message) => void errors.push(message),
  });
  const settled = Promise.withResolvers<SettleMessage>();
  const unwatch = observe({ settle: (message) => message.id === "msg_1" && settled.resolve(message) });
  onTestFinished(unwatch);
  const handled: string[] = [];
  const reasons: unknown[] = [];
  const handlers: Handlers<EsimEvents> = {
    "*": async ({ id }, { signal }) => {
      handled.push(id);
      if (id !== "msg_1") return;
      await hangs.promise;
      reasons.push((signal.reason as Error).name);
    },
  };
  const stopping = new AbortController();
  const worker = inbox.createWorker(handlers, { concurrency: 1, timeoutMs: 50, graceMs: 0, logger });
  const running = worker.run({ signal: stopping.signal });
  expect(await settled.promise).toMatchObject({ outcome: "dead", reason: "timed_out" });
  expect(worker.isHealthy()).toBe(false);

  const others = Array.from({ length: 300 }, (_, n) => `msg_${n + 2}`);
  await inbox.put(others.map((id) => entryOf(id)));
  await setTimeout(1000);
  await expect.poll(() => queue.getJobCounts("active")).toEqual({ active: 0 }); // one more may have been taken and given back
  expect((await queue.getJobCounts("waiting"))["waiting"]).toBeGreaterThanOrEqual(299);
  expect(handled).toEqual(["msg_1"]);
  expect(errors.filter((message) => message.startsWith("The worker takes no more events"))).toHaveLength(1);

  hangs.resolve();
  await ended.promise;
  await expect.poll(() => handled.length, { timeout: 60_000 }).toBe(301);
  expect(worker.isHealthy()).toBe(true);
  expect(reasons).toEqual(["TimeoutError"]);
  stopping.abort();
  await running;
});

it("stops although it is stuck, and takes nothing more, not even when its abandoned handler ends then", async () => {
  const hangs = Promise.withResolvers<void>();
  const handled: string[] = [];
  const handlers: Handlers<EsimEvents> = {
    "*": async ({ id }) => {
      handled.push(id);
      await hangs.promise;
    },
  };
  const stopping = new AbortController();
  const worker = inbox.createWorker(handlers, { concurrency: 1, timeoutMs: 20, graceMs: 0 });
  const running = worker.run({ signal: stopping.signal });
  await inbox.put([entryOf("msg_1")]);
  await expect.poll(() => worker.isHealthy()).toBe(false);
  await inbox.put([entryOf("msg_2"), entryOf("msg_3")]);
  stopping.abort();
  hangs.resolve();
  await running;
  expect(handled).toEqual(["msg_1"]);
  const { waiting = 0, delayed = 0, active } = await queue.getJobCounts("waiting", "delayed", "active");
  expect([waiting + delayed, active]).toEqual([2, 0]);
});

it("stops without waiting for a Redis that is down, once its jobs have ended", async () => {
  const server = await privateRedis();
  onTestFinished(() => server.close());
  const own = bullmqInbox({ connection: server.url, timeoutMs: 20_000 });
  const stopping = new AbortController();
  const handled = Promise.withResolvers<void>();
  const worker = own.createWorker({ "*": () => handled.resolve() }, { shutdownMs: 250_000 });
  const running = worker.run({ signal: stopping.signal });
  await own.put([entryOf("msg_1")]);
  await handled.promise;
  await expect.poll(async () => (await own.gauges()).counts.leased).toBe(0);
  await server.kill();
  stopping.abort();
  await running; // with BullMQ's own pause, after shutdownMs
  await own.close();
}, 200_000);

it("stores the result of a job that ends while Redis is down, once Redis is back within shutdownMs", async () => {
  const server = await privateRedis();
  onTestFinished(() => server.close());
  const own = bullmqInbox({ connection: server.url, timeoutMs: 20_000 });
  const stopping = new AbortController();
  const [began, ends, ended] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  let runs = 0;
  const handler = async () => {
    runs += 1;
    began?.resolve();
    await ends?.promise;
    ended?.resolve();
  };
  const running = own
    .createWorker({ "*": handler }, { shutdownMs: 250_000 })
    .run({ signal: stopping.signal });
  await own.put([entryOf("msg_1")]);
  await began?.promise;
  await server.kill();
  stopping.abort();
  ends?.resolve();
  await ended?.promise;
  await setTimeout(200); // the result waits for Redis, and so does the worker
  await server.start();
  await running;
  await expect.poll(async () => (await own.get(key("msg_1")))?.state).toBe("done");
  expect(runs).toBe(1);
  await own.close();
}, 200_000);

it("refuses a time limit for a type that the catalog does not have", () => {
  const timeouts = { "esim.faultd": 1000 } as object;
  expect(() => inbox.createWorker({ "*": () => {} }, { timeouts })).toThrow('timeouts names "esim.faultd"');
});

it("logs an event as dead once too many workers have died while they had it", async () => {
  await inbox.put([entryOf("msg_1")]);
  const [job] = await queue.getJobs(["waiting"]);
  await redis.admin.hset(`bull:events:${job?.id}`, "defa", "job stalled more than allowable limit"); // as BullMQ notes it
  const line = Promise.withResolvers<unknown>();
  const logger = loggerWith({ error: line.resolve });
  const worker = run({ "*": () => {} }, { logger });
  expect(await line.promise).toMatchObject({ id: "msg_1", type: "esim.enabled", outcome: "dead" });
  await worker.stop();
});

it("reports how long ago it took its last job", async () => {
  const handled = Promise.withResolvers<void>();
  const worker = inbox.createWorker({ "*": () => handled.resolve() });
  expect(worker.sinceLastTakeMs()).toBeNull();
  const stopping = new AbortController();
  const running = worker.run({ signal: stopping.signal });
  await inbox.put([entryOf()]);
  await handled.promise;
  expect(worker.sinceLastTakeMs()).toBeGreaterThanOrEqual(0);
  stopping.abort();
  await running;
});

describe("a program that can write to the queue's Redis is believed", () => {
  it("when it adds a job, which runs without a signature", async () => {
    await inbox.put([entryOf("msg_1")]);
    const [real] = await queue.getJobs(["waiting"]);
    await queue.add("esim.enabled", { ...real?.data, id: "msg_forged" });
    const [handled, both] = [new Set<string>(), Promise.withResolvers<void>()];
    const worker = run({ "*": ({ id }) => void (handled.add(id).size === 2 && both.resolve()) });
    await both.promise;
    expect(handled).toEqual(new Set(["msg_1", "msg_forged"]));
    await worker.stop();
  });

  it("when it copies a deduplication key: the event of that id is a conflict, and never runs", async () => {
    await inbox.put([entryOf("msg_1")]);
    await redis.admin.copy("bull:events:de:7:default:msg_1", "bull:events:de:7:default:msg_2");
    expect(await inbox.put([entryOf("msg_2", { type: "esim.faulted" })])).toEqual(["conflict"]);
    expect(await inbox.count()).toBe(1);
  });
});

describe("a worker that stops", () => {
  it("lets handlers finish that do so in time", async () => {
    await inbox.put([entryOf()]);
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const worker = run({
      "*": async () => {
        start();
        await finished;
      },
    });
    await started;
    const stopped = worker.stop();
    finish();
    await stopped;
    expect(await queue.getJobCounts("completed")).toEqual({ completed: 1 });
  });

  it.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
    ["throws when its signal aborts", (signal) => once(signal, "abort").then(() => signal.throwIfAborted())],
    ["returns when its signal aborts", (signal) => once(signal, "abort")],
    ["never ends", () => new Promise(() => {})],
  ])(
    "gives the event back whose handler %s: another worker takes it immediately, with no attempt spent",
    async (_, wait) => {
      await inbox.put([entryOf("msg_1")]);
      const { promise: started, resolve: start } = Promise.withResolvers<AbortSignal>();
      const errors: unknown[] = [];
      const logger = loggerWith({ error: (fields) => errors.push(fields) });
      const stopping = run(
        {
          "*": (_event, { signal }) => {
            start(signal);
            return wait(signal);
          },
        },
        { shutdownMs: 0, logger },
      );
      const signal = await started;
      await stopping.stop();
      expect(signal.reason).toMatchObject({ name: "AbortError", message: "The worker is stopping." });

      expect(await queue.getJobCounts("active")).toEqual({ active: 0 });
      const handled = Promise.withResolvers<void>();
      const next = run({ "*": () => handled.resolve() });
      await handled.promise; // long before the lock of the job would have ended
      await next.stop();
      const [job] = await queue.getJobs(["completed"]);
      expect(job).toMatchObject({ attemptsMade: 1, stalledCounter: 0 });
      expect(errors.filter((fields) => (fields as { outcome?: string }).outcome === "dead")).toEqual([]);
    },
  );

  it.each([
    ["was never there", ""],
    ["went down while it waited", "ends"],
    ["went down while a handler ran", "hangs"],
  ])("lets its process end, although Redis %s", async (_, handler) => {
    const redis = await privateRedis();
    opened.push(redis);
    await (handler === "" ? redis.kill() : putEvent(redis));
    const script = join(import.meta.dirname, "worker-process.ts");
    const { child, line, ended } = runNode([script], { REDIS_URL: redis.url, HANDLER: handler });
    onTestFinished(() => void child.kill("SIGKILL"));
    await line(handler === "" ? /^running/ : /^handling/);
    if (handler !== "") await redis.kill();
    child.kill("SIGTERM");
    await line(/^stopped/);
    expect(await ended).toMatchObject({ code: 0 }); // nothing in its sockets and timers keeps it
  });
});

async function putEvent({ url }: TestServer): Promise<void> {
  const inbox = bullmqInbox({ connection: url });
  await inbox.put([entryOf()]);
  await inbox.close();
}
