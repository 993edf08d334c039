import { hostname } from "node:os";
import type { BullmqInbox } from "@esim-webhooks/queue-bullmq";
import { beforeEach, expect, it } from "vitest";
import { key } from "../../../test/inbox-entry.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { entryOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { openInbox } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { attempts: 12, backoff: 1 } });
});

it("keeps the subject, the key and the trace of an event, when it was settled, and its last ten errors, masked", async () => {
  let attempts = 0;
  const stopping = new AbortController();
  const handlers = {
    "*": () => {
      attempts += 1;
      throw new Error(`no SIM 8932042000001234567, for the ${attempts}th time`);
    },
  };
  await inbox.put([entryOf("msg_1", { key: "key:1a2b3c4d", trace: "00-a-b-01" })]);
  const running = inbox.createWorker(handlers).run({ signal: stopping.signal });
  await expect.poll(async () => (await inbox.get(key("msg_1")))?.state, { timeout: 60_000 }).toBe("dead");
  const event = await inbox.get(key("msg_1"));
  stopping.abort();
  await running;
  expect(event).toMatchObject({ key: "key:1a2b3c4d", trace: "00-a-b-01", takenAt: expect.any(Date) });
  expect(event?.subject).toEqual(expect.any(String));
  expect(event?.settledAt?.getTime()).toBeGreaterThanOrEqual(event?.takenAt?.getTime() ?? Infinity);
  expect(event?.history.map(({ error }) => error)).toEqual(
    Array.from({ length: 10 }, (_, n) => `Error: no SIM •••, for the ${n + 3}th time`),
  );
  const [last] = event?.history ?? [];
  expect(last).toMatchObject({ reason: "failed", worker: null });
  expect(last?.endedAt?.getTime()).toBeLessThanOrEqual(event?.settledAt?.getTime() ?? 0);
  expect(last?.durationMs).toBeGreaterThanOrEqual(0);
});

it("counts events by state as gauges, without a cap", async () => {
  const { receivedAt, ...first } = entryOf("msg_1");
  await inbox.put([{ ...first, receivedAt }, entryOf("msg_2"), entryOf("msg_3")]);
  expect(await inbox.gauges()).toEqual({
    counts: { ready: 3, waiting: 0, blocked: 0, paused: 0, leased: 0, unhandled: 0, dead: 0 },
    capped: [],
    blockedBy: { failing: 0, paused: 0, dead: 0 },
    oldestReadyMs: expect.any(Number),
    lastReceivedAt: expect.any(Date),
  });
});

it("lists the workers that are connected, and no longer once they have stopped", async () => {
  expect(await inbox.workers()).toEqual([]);
  const stopping = new AbortController();
  const running = inbox.createWorker({ "*": () => {} }, { concurrency: 7 }).run({ signal: stopping.signal });
  await expect.poll(async () => (await inbox.workers()).length).toBe(1);
  const [worker] = await inbox.workers();
  expect(worker).toMatchObject({
    host: hostname(),
    pid: process.pid,
    concurrency: 7,
    running: null,
    lastTakeAt: null,
  });
  stopping.abort();
  await running;
  await expect.poll(() => inbox.workers()).toEqual([]);
});
