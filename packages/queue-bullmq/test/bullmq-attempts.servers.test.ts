import type { EsimEvents, Handlers, Logger, StoredEvent } from "@esim-webhooks/core";
import { observe } from "@esim-webhooks/core/observe";
import { type BullmqInbox, type BullmqProcessorOptions, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { type Queue, UnrecoverableError, type Worker, type WorkerOptions } from "bullmq";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { key } from "../../../test/inbox-entry.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { oddThrows } from "../../conformance/src/base/odd-throws.ts";
import { entryOf, nextOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { attempts: 2, backoff: 1 } });
  queue = openQueue();
});

function work(
  handlers: Handlers<EsimEvents>,
  options: BullmqProcessorOptions = {},
  workerOptions: Partial<WorkerOptions> = {},
): Worker {
  return openWorker(bullmqProcessor(handlers, options), workerOptions);
}

/** Resolves to the event once it is dead. */
async function dead(id: string): Promise<StoredEvent | undefined> {
  await expect.poll(async () => (await inbox.get(key(id)))?.state).toBe("dead");
  return inbox.get(key(id));
}

it("does not start an event again in the same process while its abandoned handler runs, and does once that has ended", async () => {
  const hangs = Promise.withResolvers<void>();
  let starts = 0;
  const handlers: Handlers<EsimEvents> = { "*": () => (++starts === 1 ? hangs.promise : undefined) };
  work(handlers, { timeoutMs: 50, graceMs: 0, leaseMs: 1000 }, { concurrency: 2 });
  await inbox.put([entryOf("msg_1")]);
  const takes = async () => (await queue.getJobs())[0]?.attemptsStarted ?? 0;
  await expect.poll(takes).toBeGreaterThanOrEqual(3); // it was put off at least once since the attempt that timed out
  expect(starts).toBe(1);
  hangs.resolve();
  await expect.poll(async () => (await inbox.get(key("msg_1")))?.state).toBe("done");
  expect(starts).toBe(2);
});

describe("what BullMQ keeps of an error", () => {
  const secrets = ["8932042000001234567", "hunter2"];
  const message = "no SIM 8932042000001234567 at postgres://me:hunter2@db";

  it("has no secrets and no personal data, while logs and observers get the original", async () => {
    const errors: unknown[] = [];
    const write: Logger["error"] = (fields) => void errors.push((fields as { err?: Error }).err);
    const logger = loggerWith({ warn: write, error: write });
    const thrown = new TypeError(message);
    const observed: unknown[] = [];
    onTestFinished(observe({ settle: ({ error }) => void observed.push(error) }));
    const worker = work({ "*": () => Promise.reject(thrown) }, { logger });
    await inbox.put([entryOf("msg_1")]);
    const [, copy] = await nextOf(worker, "failed");
    expect(copy).toMatchObject({
      name: "TypeError",
      message: "no SIM ••• at postgres://me:•••@db",
      cause: thrown,
    });
    expect(copy).toBeInstanceOf(TypeError);
    const event = await dead("msg_1");
    expect(event?.error).toBe("no SIM ••• at postgres://me:•••@db");
    expect(event?.stack).toMatch(/^at .*bullmq-attempts\.servers\.test\.ts/);
    expect(event?.stack).not.toContain("esim-webhooks {");
    expect(errors).toEqual([thrown, thrown]);
    expect(errors[0]).toBe(thrown);
    expect(observed.at(-1)).toBe(thrown);

    const texts: string[] = [];
    for (const each of await redis.admin.keys("*")) {
      const type = await redis.admin.type(each);
      if (type === "hash") texts.push(JSON.stringify(await redis.admin.hgetall(each)));
      if (type === "stream") texts.push(JSON.stringify(await redis.admin.xrange(each, "-", "+")));
    }
    for (const secret of secrets) expect(texts.join()).not.toContain(secret);
  });

  it("is of the same class, so that an UnrecoverableError ends the attempts", async () => {
    const worker = work({ "*": () => Promise.reject(new UnrecoverableError(message)) });
    await inbox.put([entryOf("msg_1")]);
    const [job, error] = await nextOf(worker, "failed");
    expect(error).toBeInstanceOf(UnrecoverableError);
    expect(job).toMatchObject({ attemptsMade: 1, finishedOn: expect.any(Number) });
  });

  it("is its reason, whatever a handler throws, and the attempt fails once", async () => {
    const odd = new Map(oddThrows().map((it) => [it.of, it]));
    const once = openInbox({ jobOptions: { attempts: 1 } });
    const lines: unknown[] = [];
    const write: Logger["error"] = ({ id }) => void lines.push(id);
    const logger = loggerWith({ warn: write, error: write });
    const worker = work({ "*": ({ id }) => Promise.reject(odd.get(id)?.thrown) }, { logger });
    const read: unknown[] = [];
    worker.on("failed", (job, error) => {
      for (const key in error) read.push([job?.id, Reflect.get(error, key)]); // as serializers do
    });
    await once.put(Array.from(odd.keys(), (id) => entryOf(id)));
    for (const { of: id, reason } of odd.values()) {
      const attempts = (await dead(id))?.history.map((attempt) => [id, attempt.reason, attempt.error]);
      expect(attempts).toEqual([[id, "failed", reason]]);
    }
    expect(lines.sort()).toEqual([...odd.keys()].sort());
    expect(await queue.getJobCounts("active", "delayed", "wait")).toEqual({ active: 0, delayed: 0, wait: 0 });
  });

  it("is the reason of a discarded event, masked", async () => {
    const worker = work({ "*": (_, context) => context.discard("8932042000001234567 is not ours") });
    await inbox.put([entryOf("msg_1")]);
    const [job] = await nextOf(worker, "completed");
    expect(job.returnvalue).toEqual({ outcome: "discarded", reason: "••• is not ours" });
  });
});

describe("the history of an event", () => {
  it("says why each attempt failed, when, and how long it took", async () => {
    const before = Date.now();
    work(
      {
        "esim.enabled": ({ id }) =>
          id === "late" ? new Promise(() => {}) : Promise.reject(new RangeError("no luck")),
      },
      { timeoutMs: 20, graceMs: 0 },
    );
    const once = openInbox({ jobOptions: { attempts: 1 } });
    const body = Buffer.from('{"type":"esim.enabled","timestamp":"2026-01-01T00:00:00Z","data":{"iccid":5}}');
    await inbox.put([entryOf("failed"), entryOf("invalid", { body, event: null })]);
    await once.put([entryOf("late"), entryOf("unhandled", { type: "esim.deleted" })]);
    const attempts = async (id: string) =>
      (await dead(id))?.history.map(({ reason, error }) => [reason, error]);
    const noLuck = ["failed", "RangeError: no luck"];
    expect(await attempts("failed")).toEqual([noLuck, noLuck]);
    expect(await attempts("invalid")).toEqual([["invalid", expect.stringMatching(/invalid: data/)]]);
    expect(await attempts("unhandled")).toEqual([["unhandled", expect.stringMatching(/no handler takes/)]]);
    expect(await attempts("late")).toEqual([["timed_out", expect.stringMatching(/^TimeoutError: /)]]);
    const [attempt] = (await dead("late"))?.history ?? [];
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(19);
    expect(attempt?.endedAt?.getTime()).toBeGreaterThanOrEqual(before);
    expect((await dead("invalid"))?.stack).toBeNull();
  });

  it("notes that a lease has ended, where a worker died while it had the event", async () => {
    const stallsOften = { stalledInterval: 1, drainDelay: 0.01, maxStalledCount: 1 };
    await openInbox({ jobOptions: { attempts: 3, backoff: 1 } }).put([entryOf("msg_1")]);
    const stall = async () => {
      const taker = openWorker(null, { lockDuration: 1 });
      await taker.getNextJob("token");
      const checker = openWorker(null, stallsOften);
      await checker.startStalledCheckTimer();
      await expect.poll(() => queue.getJobCounts("active", "waiting")).toEqual({ active: 0, waiting: 1 });
      await checker.close();
    };
    await stall();
    const reasons = async () => (await inbox.get(key("msg_1")))?.history.map(({ reason }) => reason);
    expect(await reasons()).toEqual(["lease_ended"]);
    const worker = work({ "*": () => Promise.reject(new Error("no")) }, {}, { stalledInterval: 1 });
    await nextOf(worker, "failed");
    await worker.close();
    expect((await reasons())?.slice(0, 2)).toEqual(["lease_ended", "failed"]);
    const failures = (await reasons())?.length ?? 0;
    const [delayed] = await queue.getDelayed();
    await delayed?.promote().catch(() => {});
    await stall();
    expect(await reasons()).toEqual([
      ...["lease_ended", "failed", "failed"].slice(0, failures),
      "lease_ended",
    ]);
    const last = work({ "*": () => {} });
    await nextOf(last, "failed"); // it stalled more often than this worker accepts
    const all = await reasons();
    expect(all?.slice(-2)).toEqual(["lease_ended", "attempts"]);
  });
});
