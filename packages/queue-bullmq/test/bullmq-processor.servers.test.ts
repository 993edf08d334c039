import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { setImmediate as nextTick, setTimeout } from "node:timers/promises";
import {
  type EsimEvents,
  esimCatalog,
  type HandlerContext,
  type Handlers,
  type Logger,
  memoryStore,
} from "@esim-webhooks/core";
import { encodeEntry } from "@esim-webhooks/core/engine";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import { type BullmqInbox, type BullmqProcessorOptions, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { postgresStore } from "@esim-webhooks/store-postgres";
import {
  FlowProducer,
  type Job,
  MetricsTime,
  type Queue,
  RateLimitError,
  type Telemetry,
  UnrecoverableError,
  type Worker,
  type WorkerOptions,
} from "bullmq";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { privatePostgres } from "../../../test/servers/index.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { entryOf, nextOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { opened, openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { backoff: 1 } });
  queue = openQueue();
});

function work<Tx>(
  handlers: Handlers<EsimEvents, Tx>,
  options: BullmqProcessorOptions<EsimEvents, Tx> = {},
  workerOptions: Partial<WorkerOptions> = {},
): Worker {
  return openWorker(bullmqProcessor<EsimEvents, Tx>(handlers, options), workerOptions);
}

/** Also reports the dead events of which only BullMQ knows. */
function workReported(
  handlers: Handlers<EsimEvents>,
  options: BullmqProcessorOptions = {},
  workerOptions: Partial<WorkerOptions> = {},
): Worker {
  const processor = bullmqProcessor(handlers, options);
  return openWorker(processor, workerOptions).on("failed", processor.onFailed);
}

const stallsOften = { maxStalledCount: 0, stalledInterval: 1, drainDelay: 0.01 };

/** Takes the next job as a worker that dies does: its lock is never renewed. */
async function takeAndStall(): Promise<void> {
  await openWorker(null, { lockDuration: 1 }).getNextJob("token");
}

async function completed(worker: Worker): Promise<Job> {
  const [job] = await nextOf(worker, "completed");
  return job;
}

/** Resolves when a job has failed for good. */
async function failed(worker: Worker): Promise<Job> {
  for (;;) {
    const [job] = await nextOf(worker, "failed");
    if (job.finishedOn !== undefined) return job;
  }
}

it("handles an event with its context, and completes the job", async () => {
  const contexts: HandlerContext[] = [];
  const entry = entryOf("msg_1", { source: "eu", receivedAt: new Date("2026-01-01T00:00:00Z") });
  const worker = work({ "esim.enabled": (_, context) => void contexts.push(context) });
  await inbox.put([entry]);
  const job = await completed(worker);
  expect(job.returnvalue).toEqual({ outcome: "processed" });
  expect(contexts).toHaveLength(1);
  expect(contexts[0]).toMatchObject({
    source: "eu",
    attempt: 1,
    replayed: false,
    receivedAt: new Date("2026-01-01T00:00:00Z"),
  });
  expect(contexts[0]?.signal).toBeInstanceOf(AbortSignal);
});

it("says that an event comes from an import", async () => {
  const seen: boolean[] = [];
  const worker = work({ "*": (_, { replayed }) => void seen.push(replayed) });
  await inbox.put([entryOf("msg_1", { replay: { run: "first", rebuilt: true } })]);
  await completed(worker);
  expect(seen).toEqual([true]);
});

it("tries a failed event again as BullMQ is set, and counts the attempts", async () => {
  const attempts: number[] = [];
  const worker = work({
    "*": (_, { attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error("no luck");
    },
  });
  await inbox.put([entryOf()]);
  await completed(worker);
  expect(attempts).toEqual([1, 2, 3]);
  const [row] = (await inbox.list()).rows;
  expect(row).toMatchObject({ state: "done", attempts: 3, error: null });
});

it("delays an event for retryLater without an attempt spent", async () => {
  const attempts: number[] = [];
  const worker = work({
    "*": (_, { attempt, retryLater }) => {
      attempts.push(attempt);
      return attempt < 4 ? retryLater(1) : undefined;
    },
  });
  const once = openInbox({ jobOptions: { attempts: 1 } });
  await once.put([entryOf()]);
  const job = await completed(worker);
  expect(attempts).toEqual([1, 2, 3, 4]);
  expect(job.attemptsMade).toBe(1);
});

it.each(["an operator", "a dashboard"])(
  "lets an event wait for maxWaitMs, with no attempt spent, after which it is dead until %s redrives it",
  async (by) => {
    const seen: unknown[] = [];
    const stop = observe({ settle: ({ outcome, reason }) => void seen.push([outcome, reason]) });
    const { lines, logger } = recorded();
    const worker = work({ "*": (_, context) => context.retryLater(10) }, { maxWaitMs: 1, logger });
    const waits = ["waiting", undefined];
    const dead = ["dead", "retry_later"];
    await inbox.put([entryOf("msg_1")]);
    const job = await failed(worker);
    expect(job.failedReason).toMatch(/^retry_later: .* longer than maxWaitMs, 1 ms\.$/);
    expect(job.attemptsMade).toBe(1);
    expect(seen).toEqual([waits, dead]);
    expect(lines).toMatchObject([{ id: "msg_1", outcome: "dead", reason: "retry_later" }]);
    const again = failed(worker);
    if (by === "an operator") await inbox.redrive({ ids: ["msg_1"], source: "default" });
    else await (await queue.getJob(job.id ?? ""))?.retry("failed");
    await again;
    stop();
    expect(seen).toEqual([waits, dead, waits, dead]);
  },
);

it("delays an event for a day at most, and logs a longer retryLater once", async () => {
  const { lines, logger } = recorded();
  work({ "*": (_, context) => context.retryLater(1e300) }, { logger });
  await inbox.put([entryOf("msg_1"), entryOf("msg_2")]);
  await expect.poll(() => queue.getJobCounts("delayed")).toEqual({ delayed: 2 });
  for (const { delay } of await queue.getJobs(["delayed"])) expect(delay).toBeLessThanOrEqual(86_400_000);
  expect(lines).toMatchObject([{ code: "invalid_pause" }]);
});

it("completes a discarded event with the reason", async () => {
  const worker = work({ "*": (_, context) => context.discard("the device may still succeed") });
  await inbox.put([entryOf()]);
  const { returnvalue } = await completed(worker);
  expect(returnvalue).toEqual({ outcome: "discarded", reason: "the device may still succeed" });
});

it("fails an event once and for good if it is invalid, naming no value, or if no handler takes it", async () => {
  const { lines, logger } = recorded();
  const worker = work({ "esim.enabled": () => {} }, { logger: { ...logger, warn() {} } });
  const body = Buffer.from('{"type":"esim.enabled","timestamp":"2026-01-01T00:00:00Z","data":{"iccid":5}}');
  await inbox.put([entryOf("invalid", { body, event: null })]);
  const invalid = await failed(worker);
  expect(invalid.failedReason).toMatch(/^invalid: data/);
  expect(invalid.attemptsMade).toBe(1);
  await inbox.put([entryOf("unhandled", { type: "esim.deleted" })]);
  const unhandled = await failed(worker);
  expect(unhandled.failedReason).toBe("unhandled: no handler takes esim.deleted");
  expect(await inbox.get({ source: "default", id: "unhandled" })).toMatchObject({ stack: null });
  expect(lines).toMatchObject([
    { id: "invalid", outcome: "dead", cause: expect.stringMatching(/^invalid/) },
    { id: "unhandled", outcome: "dead", remedy: expect.stringMatching(/^Add a handler, then retry it/) },
  ]);
  expect(JSON.stringify(lines)).not.toContain("acknowledged");
  expect((await inbox.list({ state: "dead" })).rows).toHaveLength(2);
});

describe("what observe sees of each attempt", () => {
  const seen: Omit<SettleMessage, "durationMs" | "receivedAt" | "ageMs" | "waitMs">[] = [];
  const waits: (number | undefined)[] = [];
  let stop: () => void;
  beforeEach(() => {
    seen.length = 0;
    waits.length = 0;
    stop = observe({
      settle({ durationMs: _, receivedAt, ageMs, waitMs, ...message }) {
        waits.push(waitMs);
        expect(Date.now() - receivedAt.getTime()).toBeGreaterThanOrEqual(ageMs);
        seen.push(message);
      },
    });
  });
  afterEach(() => stop());
  const about = { source: "default", id: "msg_1", type: "esim.enabled", by: "processor" };

  it("is a retry while attempts are left, and then dead", async () => {
    const error = new Error("no luck");
    const worker = work({ "*": () => Promise.reject(error) });
    const twice = openInbox({ jobOptions: { attempts: 2, backoff: 1 } });
    await twice.put([entryOf("msg_1")]);
    await failed(worker);
    expect(seen).toEqual([
      { ...about, attempt: 1, outcome: "retry", reason: "failed" },
      { ...about, attempt: 2, outcome: "dead", reason: "failed", error },
    ]);
  });

  it("is dead immediately if the handler throws an UnrecoverableError", async () => {
    const error = new UnrecoverableError("never");
    const worker = work({ "*": () => Promise.reject(error) });
    await inbox.put([entryOf("msg_1")]);
    await failed(worker);
    expect(seen).toEqual([{ ...about, attempt: 1, outcome: "dead", reason: "failed", error }]);
  });

  it("states how long it was due before it was taken the first time, also after a redrive", async () => {
    const handler = ({ id }: { id: string }) => {
      if (id === "msg_1") throw new Error("no luck");
    };
    const twice = openInbox({ jobOptions: { attempts: 2, backoff: 1, delay: 50 } });
    await twice.put([entryOf("msg_1")]);
    await setTimeout(150);
    const worker = work({ "*": handler });
    await failed(worker);
    await queue.pause();
    const redrivingAt = Date.now(); // before: the redrive itself may take a while
    await twice.redrive();
    await setTimeout(50);
    await queue.resume();
    await failed(worker);
    const atMost = Date.now() - redrivingAt;
    expect(waits).toHaveLength(4);
    const [first, second, third, fourth] = waits;
    expect([second, fourth]).toEqual([undefined, undefined]); // BullMQ does not keep when the pause before a retry ended
    expect(first).toBeGreaterThanOrEqual(80);
    expect(third).toBeGreaterThanOrEqual(45);
    expect(third).toBeLessThanOrEqual(atMost + 5);
  });

  it("is a retry and then dead if a schema of the catalog throws", async () => {
    const error = new Error("schema");
    const throwing = {
      ...esimCatalog,
      parse: () => {
        throw error;
      },
    };
    const { lines, logger } = recorded();
    const worker = work({ "*": () => {} }, { catalog: throwing, logger });
    const twice = openInbox({ jobOptions: { attempts: 2, backoff: 1 } });
    await twice.put([entryOf("msg_1")]);
    await failed(worker);
    expect(seen).toEqual([
      { ...about, attempt: 1, outcome: "retry", reason: "failed" },
      { ...about, attempt: 2, outcome: "dead", reason: "failed", error },
    ]);
    expect(lines).toMatchObject([
      { outcome: "retry", err: error },
      { outcome: "dead", err: error },
    ]);
  });

  it("is dead, with the reason, for an event that is invalid or that no handler takes", async () => {
    const worker = work({ "esim.enabled": () => {} });
    await inbox.put([entryOf("msg_1", { body: Buffer.from("{}") })]);
    await failed(worker);
    await inbox.put([entryOf("msg_2", { type: "esim.deleted" })]);
    await failed(worker);
    expect(seen).toEqual([
      { ...about, attempt: 1, outcome: "dead", reason: "invalid" },
      { ...about, id: "msg_2", type: "esim.deleted", attempt: 1, outcome: "dead", reason: "unhandled" },
    ]);
  });

  it("is dead for an event whose death only BullMQ knows", async () => {
    await inbox.put([entryOf("msg_1")]);
    await takeAndStall();
    await failed(workReported({ "*": () => {} }, {}, stallsOften));
    expect(seen).toEqual([{ ...about, attempt: 2, outcome: "dead", reason: "attempts" }]);
  });
});

function recorded(): { readonly lines: unknown[]; readonly logger: Logger } {
  const lines: unknown[] = [];
  const write: Logger["error"] = (fields, message) => lines.push({ ...fields, message });
  return { lines, logger: loggerWith({ warn: write, error: write }) };
}

describe("an event that is dead", () => {
  const remedy = expect.stringMatching(/ retry it: esim-webhooks inbox retry\.$/);

  it("is one line in the log once its attempts are used up, with what its handler threw", async () => {
    const { lines, logger } = recorded();
    const error = new Error("no luck");
    const worker = work({ "*": () => Promise.reject(error) }, { logger });
    const twice = openInbox({ jobOptions: { attempts: 2, backoff: 1 } });
    await twice.put([entryOf("msg_1")]);
    await failed(worker);
    const event = { id: "msg_1", type: "esim.enabled", source: "default", err: error };
    expect(lines).toMatchObject([
      { ...event, attempt: 1, outcome: "retry", message: "webhook event" },
      { ...event, attempt: 2, outcome: "dead", reason: "failed", remedy, message: "webhook event" },
    ]);
  });

  it("is one line in the log once too many workers have died while they had it", async () => {
    const { lines, logger } = recorded();
    await inbox.put([entryOf("msg_1")]);
    await takeAndStall();
    await failed(workReported({ "*": () => {} }, { logger }, stallsOften));
    const event = { id: "msg_1", type: "esim.enabled", source: "default", attempt: 2 };
    const cause = "job stalled more than allowable limit";
    expect(lines).toMatchObject([{ ...event, outcome: "dead", cause, remedy }]);
  });

  it("is an error in the log after a backoff strategy of the worker's own has ended its attempts", async () => {
    const { lines, logger } = recorded();
    const settings = { backoffStrategy: () => -1 };
    const worker = workReported(
      { "*": () => Promise.reject(new Error("no luck")) },
      { logger },
      { settings },
    );
    const custom = openInbox({ jobOptions: { backoff: { type: "custom" } } });
    await custom.put([entryOf("msg_1")]);
    await failed(worker);
    expect(lines.at(-1)).toMatchObject({ id: "msg_1", outcome: "dead", cause: "no luck", remedy });
  });

  it("is one error in the log if it was started more often than the worker's maxStartedAttempts", async () => {
    const { lines, logger } = recorded();
    const worker = workReported(
      { "*": (_, context) => context.retryLater(1) },
      { logger },
      { maxStartedAttempts: 1 },
    );
    await inbox.put([entryOf("msg_1")]);
    await failed(worker);
    const cause = "job started more than allowable limit";
    expect(lines).toMatchObject([{ id: "msg_1", attempt: 2, outcome: "dead", cause, remedy }]);
  });

  it("is not logged by onFailed if it is another program's job", async () => {
    const { lines, logger } = recorded();
    const worker = workReported({ "*": () => {} }, { logger });
    await queue.add("other", { a: 1 });
    await failed(worker);
    expect(lines).toEqual([]);
  });
});

it("fails a job that bullmqInbox did not add, once and for good", async () => {
  const worker = work({ "*": () => {} });
  await queue.add("other", { a: 1 }, { attempts: 5 });
  const job = await failed(worker);
  expect(job.failedReason).toMatch(/^not an event of bullmqInbox/);
  expect(job.attemptsMade).toBe(1);
});

it("aborts the signal of a handler when BullMQ cancels its job", async () => {
  const started = Promise.withResolvers<AbortSignal>();
  const ended = Promise.withResolvers<void>();
  const worker = work({
    "*": async (_, { signal, attempt }) => {
      if (attempt > 1) return;
      started.resolve(signal);
      await once(signal, "abort");
      ended.resolve();
    },
  });
  await inbox.put([entryOf()]);
  await started.promise;
  const [job] = await queue.getJobs(["active"]);
  worker.cancelJob(job?.id ?? "");
  await ended.promise;
});

it("carries the trace context of each put to the handler, by BullMQ's telemetry", async () => {
  const context = new AsyncLocalStorage<string>();
  const span = {
    setSpanOnContext: (current: string) => current,
    setAttribute() {},
    setAttributes() {},
    addEvent() {},
    recordException() {},
    end() {},
  };
  const telemetry: Telemetry<string> = {
    tracer: { startSpan: () => span },
    contextManager: {
      with: (of, run) => context.run(of, run),
      active: () => context.getStore() ?? "none",
      getMetadata: (of) => of,
      fromMetadata: (_, metadata) => metadata,
    },
  };
  const tracedInbox = openInbox({ queue: openQueue({ telemetry }) });
  const seen = new Map<string, string | undefined>();
  const both = Promise.withResolvers<void>();
  const handler = ({ id }: { id: string }) => {
    seen.set(id, context.getStore());
    if (seen.size === 2) both.resolve();
  };
  work({ "*": handler }, {}, { telemetry });
  await Promise.all(
    ["a", "b"].map((id) => context.run(`trace of ${id}`, () => tracedInbox.put([entryOf(id)]))),
  );
  await both.promise;
  expect(Object.fromEntries(seen)).toEqual({ a: "trace of a", b: "trace of b" });
});

it("reports how long ago the worker took its last job", async () => {
  const processor = bullmqProcessor({ "*": () => {} });
  const worker = openWorker(processor);
  expect(processor.sinceLastTakeMs()).toBeNull();
  await inbox.put([entryOf()]);
  await completed(worker);
  const first = processor.sinceLastTakeMs() ?? -1;
  expect(first).toBeGreaterThanOrEqual(0);
  await nextTick();
  expect(processor.sinceLastTakeMs()).toBeGreaterThan(first);
});

it("runs no handler for an id that the store has done, and delays one that it works elsewhere", async () => {
  const store = memoryStore();
  const [done, busy] = [entryOf("done"), entryOf("busy")];
  const claim = async (id: string) => {
    const claimed = await store.claim({ source: "default", id }, 60_000);
    return claimed.status === "claimed" ? claimed.token : "";
  };
  await store.complete({ source: "default", id: "done" }, await claim("done"));
  const token = await claim("busy");
  const ran: string[] = [];
  const worker = work({ "*": ({ id }) => void ran.push(id) }, { store });
  await inbox.put([done, busy]);
  expect((await completed(worker)).returnvalue).toEqual({ outcome: "duplicate" });
  await expect.poll(() => queue.getJobCounts("delayed")).toEqual({ delayed: 1 });
  await store.release({ source: "default", id: "busy" }, token);
  await queue.promoteJobs();
  await completed(worker);
  expect(ran).toEqual(["busy"]);
});

it.each([
  ["again without a store", undefined, 2, "processed"],
  ["once with a store", memoryStore(), 1, "duplicate"],
])("runs a handler %s, when the lock of its job ended before it did", async (_, store, runs, outcome) => {
  let ran = 0;
  const handler = async () => {
    ran += 1;
    if (ran === 1) await redis.admin.del(...(await redis.admin.keys("bull:events:*:lock"))); // as when Redis was down for longer
  };
  const worker = work({ "*": handler }, store && { store }, { stalledInterval: 10, drainDelay: 0.01 });
  await inbox.put([entryOf()]);
  expect((await completed(worker)).returnvalue).toEqual({ outcome });
  expect(ran).toBe(runs);
});

it("delays an event while the store is unreachable, with no attempt spent", async () => {
  const store = { ...memoryStore(), claim: () => Promise.reject(new Error("away")) };
  work({ "*": () => {} }, { store });
  await inbox.put([entryOf()]);
  await expect.poll(() => queue.getJobCounts("delayed")).toEqual({ delayed: 1 });
  const [job] = await queue.getJobs(["delayed"]);
  expect(job?.attemptsMade).toBe(0);
});

it("gives handlers the transaction of a transactional store, committed with the mark", async () => {
  const postgres = await privatePostgres();
  opened.push(postgres);
  const store = postgresStore({ url: postgres.url });
  opened.push(store);
  await store.migrate();
  let attempts = 0;
  const worker = work<Parameters<NonNullable<Parameters<NonNullable<typeof store.transact>>[2]>>[0]>(
    {
      "*": async ({ id }, { tx }) => {
        await sql`create table if not exists effect (id text)`.execute(tx);
        await sql`insert into effect values (${id})`.execute(tx);
        attempts += 1;
        if (attempts === 1) throw new Error("after the write");
      },
    },
    { store },
  );
  await inbox.put([entryOf("msg_1")]);
  await completed(worker);
  const claim = await store.claim({ source: "default", id: "msg_1" }, 1000);
  expect(claim.status).toBe("done");
  expect(attempts).toBe(2);
});

it("makes a job that is cancelled before its handler could start due again immediately, with no attempt spent", async () => {
  const { promise: isClaiming, resolve: claiming } = Promise.withResolvers<void>();
  const { promise: isCancelled, resolve: cancelled } = Promise.withResolvers<void>();
  const inner = memoryStore();
  const claim: typeof inner.claim = async (...of) => {
    claiming();
    await isCancelled;
    return inner.claim(...of);
  };
  const worker = work({ "*": () => {} }, { store: { ...inner, claim } });
  await inbox.put([entryOf()]);
  await isClaiming;
  worker.cancelAllJobs();
  cancelled();
  const job = await completed(worker);
  expect(job).toMatchObject({ attemptsStarted: 2, attemptsMade: 1 });
});

describe("with BullMQ's", () => {
  it("rate limit, the worker handles no more jobs than the limit allows", async () => {
    const handled: string[] = [];
    const worker = work(
      { "*": ({ id }) => void handled.push(id) },
      {},
      {
        concurrency: 10,
        limiter: { max: 1, duration: 60_000 },
      },
    );
    await inbox.put([entryOf("msg_1"), entryOf("msg_2")]);
    await completed(worker);
    expect(await queue.getRateLimitTtl(1)).toBeGreaterThan(0);
    await worker.close();
    expect(handled).toHaveLength(1);
    expect(await queue.getJobCounts("waiting")).toEqual({ waiting: 1 });
  });

  it("RateLimitError, a handler makes its job wait, with no attempt spent and no failure in the log", async () => {
    const errors: unknown[] = [];
    const logger = loggerWith({ error: (fields) => errors.push(fields) });
    const attempts: number[] = [];
    const once = openInbox({ jobOptions: { attempts: 1 } });
    const worker = work(
      {
        "*": async (_event, { attempt }) => {
          attempts.push(attempt);
          if (attempt > 1) return;
          await queue.rateLimit(1);
          throw new RateLimitError();
        },
      },
      { logger },
    );
    await once.put([entryOf()]);
    expect(await completed(worker)).toMatchObject({ attemptsMade: 1 });
    expect(attempts).toEqual([1, 2]);
    expect(errors).toEqual([]);
  });

  it("flows, a parent job waits for the events that are its children, and gets their results", async () => {
    const flows = new FlowProducer({ connection: { url: redis.server.url } });
    opened.push(flows);
    const handled: string[] = [];
    work({ "*": ({ id }) => void handled.push(id) });
    const parents = openWorker(async (job) => Object.values(await job.getChildrenValues()), {}, "reports");
    await flows.add({
      name: "report",
      queueName: "reports",
      children: ["msg_1", "msg_2"].map((id) => {
        const data = encodeEntry(entryOf(id));
        return { name: "esim.enabled", queueName: "events", data };
      }),
    });
    const { returnvalue } = await completed(parents);
    expect(returnvalue).toEqual([{ outcome: "processed" }, { outcome: "processed" }]);
    expect(new Set(handled)).toEqual(new Set(["msg_1", "msg_2"]));
  });

  it("flows, a handler adds children to the job of another queue", async () => {
    const flows = new FlowProducer({ connection: { url: redis.server.url } });
    opened.push(flows);
    work({
      "*": async ({ id }) => {
        const children = [{ name: "child", queueName: "steps", data: { id } }];
        await flows.add({ name: "parent", queueName: "reports", children });
      },
    });
    openWorker(async ({ data }) => data.id, {}, "steps");
    const reports = openWorker(async (job) => Object.values(await job.getChildrenValues()), {}, "reports");
    await inbox.put([entryOf("msg_1")]);
    expect((await completed(reports)).returnvalue).toEqual(["msg_1"]);
  });

  it("metrics, each job counts as completed or failed", async () => {
    const metrics = { maxDataPoints: MetricsTime.ONE_HOUR };
    const worker = work({ "esim.enabled": () => {} }, {}, { metrics });
    await inbox.put([entryOf()]);
    await completed(worker);
    await inbox.put([entryOf("unhandled", { type: "esim.deleted" })]);
    await failed(worker);
    expect((await queue.getMetrics("completed")).meta.count).toBe(1);
    expect((await queue.getMetrics("failed")).meta.count).toBe(1);
  });
});
