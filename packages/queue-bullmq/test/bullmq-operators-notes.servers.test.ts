import { once } from "node:events";
import type { HandlerContext, Minute, MinuteCounts } from "@esim-webhooks/core";
import { observe } from "@esim-webhooks/core/observe";
import { bullmqProcessor, pauseWhileStuck } from "@esim-webhooks/queue-bullmq";
import { expect, it, onTestFinished } from "vitest";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { entryOf, nextOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);

const sumOf = (minutes: readonly Minute[]): MinuteCounts =>
  minutes.reduce(
    (sum, { stored, done, retried, dead }) => ({
      stored: sum.stored + stored,
      done: sum.done + done,
      retried: sum.retried + retried,
      dead: sum.dead + dead,
    }),
    { stored: 0, done: 0, retried: 0, dead: 0 },
  );

it("counts in each minute what is stored, and what workers of createWorker do", async () => {
  const inbox = openInbox({ minuteCounts: true, jobOptions: { attempts: 2, backoff: 1 } });
  const handlers = {
    "*": ({ id }: { id: string }, { attempt, retryLater }: HandlerContext) => {
      if (id === "dead") throw new Error("no");
      return id === "waits" && attempt === 1 ? retryLater(1) : undefined;
    },
  };
  await inbox.put(["done", "dead", "waits", "done"].map((id) => entryOf(id)));
  const stopping = new AbortController();
  const running = inbox.createWorker(handlers).run({ signal: stopping.signal });
  await expect.poll(() => inbox.stats()).toMatchObject({ states: { done: 2, dead: 1 } });
  stopping.abort();
  await running;
  const other = openInbox();
  const minutes = await other.minutes();
  expect(sumOf(minutes)).toEqual({ stored: 3, done: 2, retried: 2, dead: 1 });
  for (const { at } of minutes) expect(at.getTime() % 60_000).toBe(0);
  await other.put([entryOf("another")]);
  expect(await other.minutes()).toEqual(minutes);
  expect(await redis.admin.pttl("bull:events:esim-webhooks:minutes")).toBeGreaterThan(0);
});

it("forgets the minutes of the day before", async () => {
  const inbox = openInbox({ minuteCounts: true });
  const old = Math.floor((Date.now() - 86_500_000) / 60_000) * 60_000;
  await redis.admin.hset("bull:events:esim-webhooks:minutes", `${old}:stored`, 7);
  expect(await inbox.minutes()).toEqual([]);
  await inbox.put([entryOf("a")]);
  await expect.poll(() => redis.admin.hexists("bull:events:esim-webhooks:minutes", `${old}:stored`)).toBe(0);
});

it("lists the workers that users create, with what Redis knows of them", async () => {
  const inbox = openInbox();
  const worker = openWorker(bullmqProcessor({ "*": () => {} }));
  const named = openWorker(bullmqProcessor({ "*": () => {} }), { name: "mine" });
  await Promise.all([worker.waitUntilReady(), named.waitUntilReady()]);
  await expect.poll(async () => (await inbox.workers()).length).toBe(2);
  for (const listed of await inbox.workers())
    expect(listed).toEqual({
      id: expect.stringMatching(/^127\.0\.0\.1:–:\d+$/),
      host: "127.0.0.1",
      pid: null,
      version: null,
      startedAt: expect.any(Date),
      concurrency: null,
      running: null,
      lastTakeAt: null,
      seenAt: expect.any(Date),
    });
});

it("stops a user's own worker from taking jobs while it is stuck, by pauseWhileStuck", async () => {
  const inbox = openInbox({ jobOptions: { attempts: 1 } });
  const hangs = Promise.withResolvers<void>();
  const handled: string[] = [];
  const processor = bullmqProcessor(
    {
      "*": ({ id }) => {
        handled.push(id);
        return id === "hangs" ? hangs.promise : undefined;
      },
    },
    { timeoutMs: 20, graceMs: 0 },
  );
  const worker = openWorker(processor);
  onTestFinished(pauseWhileStuck(worker, processor));
  await inbox.put([entryOf("hangs")]);
  await nextOf(worker, "paused");
  await inbox.put([entryOf("next")]);
  await expect.poll(() => worker.isPaused()).toBe(true);
  expect(handled).not.toContain("another");
  hangs.resolve();
  await once(worker, "resumed");
  await inbox.put([entryOf("another")]);
  await expect.poll(() => handled).toContain("another");
});

it("publishes what operators have changed", async () => {
  const inbox = openInbox();
  const changes: unknown[] = [];
  onTestFinished(observe({ change: (message) => void changes.push(message) }));
  await inbox.pause({ reason: "maintenance" });
  await inbox.resume();
  await inbox.redrive();
  await inbox.purgeDead({});
  await inbox.erase("esim_1");
  expect(changes).toMatchObject([
    { change: "pause", reason: "maintenance" },
    { change: "resume", pauses: [{ reason: "maintenance" }] },
    { change: "redrive", events: 0 },
    { change: "purge_dead", events: 0 },
    { change: "erase", events: { ready: 0 } },
  ]);
  expect(await openQueue().isPaused()).toBe(false);
});

it("counts at most as many as it is asked to", async () => {
  const inbox = openInbox();
  await inbox.put(["a", "b", "c"].map((id) => entryOf(id)));
  expect(await inbox.count({}, 2)).toBe(2);
  expect(await inbox.count({ ids: ["a", "b"] }, 1)).toBe(1);
  expect(await inbox.count({}, 10)).toBe(3);
});
