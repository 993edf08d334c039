import { setTimeout as pause } from "node:timers/promises";
import { type BullmqInbox, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import type { Queue } from "bullmq";
import { beforeEach, expect, it } from "vitest";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { pausedForASecond } from "../../conformance/src/inbox/inbox-context.ts";
import { entryOf, nextOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox();
  queue = openQueue();
});

const reason = "the CRM is down";

it("pauses every worker, goes on storing, and spends no attempts", async () => {
  const handled: [string, number][] = [];
  const worker = openWorker(
    bullmqProcessor({ "*": ({ id }, { attempt }) => void handled.push([id, attempt]) }),
  );
  await worker.waitUntilReady();
  await inbox.pause({ reason });
  expect(await inbox.put([entryOf("a"), entryOf("b")])).toEqual(["stored", "stored"]);
  await pause(300);
  expect(handled).toEqual([]);
  expect((await inbox.get({ source: "default", id: "a" }))?.attempts).toBe(0);
  await inbox.resume();
  await expect.poll(() => handled.length).toBe(2);
  expect(Object.fromEntries(handled)).toEqual({ a: 1, b: 1 });
});

it("counts due events as paused, and neither as ready nor as the oldest due", async () => {
  await openInbox({ jobOptions: { delay: 3_600_000 } }).put([entryOf("later")]);
  await openInbox({ jobOptions: { delay: 1 } }).put([entryOf("overdue")]);
  await openInbox({ jobOptions: { priority: 2 } }).put([entryOf("prioritized")]);
  await inbox.put([entryOf("a")]);
  await pause(10);
  await inbox.pause({ reason });
  const { counts, oldestReadyMs } = await inbox.gauges();
  expect([counts, oldestReadyMs]).toMatchObject([{ ready: 0, paused: 3, waiting: 1 }, null]);
  expect(await inbox.stats()).toMatchObject({ oldestReadyMs: null });
  await inbox.resume();
  expect((await inbox.gauges()).counts).toMatchObject({ ready: 3, paused: 0, waiting: 1 });
});

it("refuses to pause and to resume single types", async () => {
  const invalid = { code: "invalid_option", message: expect.stringMatching(/pauses all types or none/) };
  await expect(inbox.pause({ reason, types: ["esim.enabled"] })).rejects.toMatchObject(invalid);
  await expect(inbox.resume({ types: ["esim.enabled"] })).rejects.toMatchObject(invalid);
  expect(await queue.isPaused()).toBe(false);
});

it.each([
  ["a worker of createWorker", undefined],
  ["paused()", () => inbox.paused()],
  ["gauges()", () => inbox.gauges()],
])("is ended by %s when its `until` has passed", async (_, look) => {
  await inbox.pause({ reason, until: new Date(Date.now() + 3_600_000) });
  await look?.();
  expect(await queue.isPaused()).toBe(true);
  const until = await pausedForASecond((until) => inbox.pause({ reason, until }));
  const stopping = new AbortController();
  const running =
    look === undefined && inbox.createWorker({ "*": () => {} }).run({ signal: stopping.signal });
  const isPaused = async () => {
    await look?.();
    return queue.isPaused();
  };
  await expect.poll(isPaused).toBe(false);
  expect(Date.now()).toBeGreaterThanOrEqual(until.getTime());
  stopping.abort();
  await running;
});

it("is a line in the log of a worker of createWorker, and so is its end", async () => {
  const lines: unknown[] = [];
  const write = (fields: object, message?: string) => void lines.push({ ...fields, message });
  const logger = loggerWith({ info: write, warn: write, error: write });
  const stopping = new AbortController();
  const until = new Date(Date.now() + 3_600_000);
  await inbox.pause({ reason, until, by: "ops@example.com" });
  const running = inbox.createWorker({ "*": () => {} }, { logger }).run({ signal: stopping.signal });
  await expect.poll(() => lines).toHaveLength(1);
  await inbox.resume();
  await expect.poll(() => lines).toHaveLength(2);
  stopping.abort();
  await running;
  expect(lines).toEqual([
    {
      reason,
      since: expect.any(Date),
      until,
      by: "ops@example.com",
      message: "The queue is paused: its workers take no events.",
    },
    { message: "The queue is no longer paused." },
  ]);
});

it("is ended by a receiver that stores an event after its `until`", async () => {
  await pausedForASecond((until) => inbox.pause({ reason, until }));
  await pause(1010);
  await openInbox().put([entryOf("a")]);
  await expect.poll(() => queue.isPaused()).toBe(false);
});

it("leaves a pause that has replaced one whose `until` has passed", async () => {
  await pausedForASecond((until) => inbox.pause({ reason, until }));
  await pause(1010);
  await Promise.all([
    inbox.pause({ reason: "still down" }),
    ...Array.from({ length: 20 }, () => inbox.paused()),
  ]);
  expect(await inbox.paused()).toMatchObject([{ type: null, reason: "still down", until: null }]);
  expect(await queue.isPaused()).toBe(true);
});

it("shows a pause by a dashboard, since when it was first seen, and forgets ours if a dashboard has resumed", async () => {
  await inbox.pause({ reason });
  await queue.resume();
  expect(await inbox.paused()).toEqual([]);
  await queue.pause();
  const seen = await inbox.paused();
  expect(seen).toEqual([
    {
      type: null,
      reason: expect.stringMatching(/^Paused by another program/),
      since: expect.any(Date),
      until: null,
      by: null,
    },
  ]);
  await pause(20);
  expect(await inbox.resume()).toEqual(seen);
  expect(await queue.isPaused()).toBe(false);
});

it("wakes a worker that waits when it is resumed, for delayed events too", async () => {
  await inbox.pause({ reason });
  await openInbox({ jobOptions: { delay: 100 } }).put([entryOf("a")]);
  const worker = openWorker(bullmqProcessor({ "*": () => {} }));
  await pause(200);
  await inbox.resume();
  await nextOf(worker, "completed");
});
