import { type BullmqInbox, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Queue } from "bullmq";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { entryOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { attempts: 1 } });
  queue = openQueue();
});

const keyOf = (id: string) => ({ source: "default", id });

/** Resolves once the event is done or dead. */
async function settled(id: string) {
  await expect.poll(async () => (await inbox.get(keyOf(id)))?.state).toMatch(/^(done|dead)$/);
  const event = await inbox.get(keyOf(id));
  if (event === undefined) throw new Error(`${id} is no longer there.`);
  return event;
}

describe("what an event keeps", () => {
  it("is its subject, the key that verified it and its trace", async () => {
    const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const type = "esim.enabled";
    const tooLong = { type, data: { esimReference: "x".repeat(201) } };
    await inbox.put([
      entryOf("a", { key: "key:1a2b3c4d", trace }),
      entryOf("b", { body: Buffer.from(JSON.stringify(tooLong)), event: null }),
    ]);
    expect(await inbox.get(keyOf("a"))).toMatchObject({ subject: "esim a", key: "key:1a2b3c4d", trace });
    expect(await inbox.get(keyOf("b"))).toMatchObject({ subject: null, key: null, trace: null });
    const { rows } = await inbox.list();
    expect(rows.map(({ subject }) => subject).sort()).toEqual(["esim a", null]);
    expect(rows[0]).not.toHaveProperty("key");
  });

  it("is when it was last taken, and when it was settled, until it is redriven", async () => {
    await inbox.put([entryOf("a")]);
    expect(await inbox.get(keyOf("a"))).toMatchObject({ takenAt: null, settledAt: null, history: [] });
    openWorker(bullmqProcessor({ "*": () => Promise.reject(new Error("no")) }));
    const { takenAt, settledAt, receivedAt } = await settled("a");
    expect(takenAt?.getTime()).toBeGreaterThanOrEqual(receivedAt?.getTime() ?? Number.NaN);
    expect(settledAt?.getTime()).toBeGreaterThanOrEqual(takenAt?.getTime() ?? Number.NaN);
    await queue.pause();
    await inbox.redrive();
    expect(await inbox.get(keyOf("a"))).toMatchObject({ takenAt: null, settledAt: null });
  });
});

it("shows a redrive as a step of the history, by whom it was and how many attempts there were before, and the stack of the attempt before it", async () => {
  await inbox.put([entryOf("a")]);
  const worker = openWorker(bullmqProcessor({ "*": () => Promise.reject(new Error("no")) }));
  await settled("a");
  await worker.close();
  expect(await inbox.redrive({ ids: ["a"], source: "default" }, 10, "ada")).toBe(1);
  const step = { reason: "retried", durationMs: null, error: null, worker: null };
  const redriven = await inbox.get(keyOf("a"));
  expect(redriven?.history).toMatchObject([
    { reason: "failed", by: null, attempts: null },
    { ...step, by: "ada", attempts: 1, endedAt: expect.any(Date) },
  ]);
  openWorker(bullmqProcessor({ "*": () => Promise.reject(new Error("no again")) }));
  const { history, stack } = await settled("a");
  expect(history.map(({ reason }) => reason)).toEqual(["failed", "retried", "failed"]);
  expect(stack).not.toBeNull();
});

it("shows an event that ends while it is read as it is then, with its error and its times", async () => {
  await inbox.put([entryOf("a")]);
  const read = openInbox({ queue });
  vi.spyOn(queue, "getJob").mockImplementationOnce(async (id) => {
    const job = await Queue.prototype.getJob.call(queue, id);
    const worker = openWorker(bullmqProcessor({ "*": () => Promise.reject(new Error("no")) }));
    await settled("a");
    await worker.close();
    return job;
  });
  const event = await read.get(keyOf("a"));
  expect(event).toMatchObject({ state: "dead", error: "no", settledAt: expect.any(Date), attempts: 1 });
  expect(event?.history).toHaveLength(1);
});

it("keeps the causes of an error, masked", async () => {
  await inbox.put([entryOf("a")]);
  const thrown = new TypeError("fetch failed", { cause: new Error("no SIM 8932042000001234567") });
  openWorker(bullmqProcessor({ "*": () => Promise.reject(thrown) }));
  const { error, history } = await settled("a");
  expect(error).toBe("fetch failed: caused by: Error: no SIM •••");
  expect(history.map((attempt) => attempt.error)).toEqual([`TypeError: ${error}`]);
});

describe("gauges", () => {
  it("count events by state, all that are due as ready, and none is capped", async () => {
    await inbox.put(["done", "dead"].map((id) => entryOf(id)));
    const worker = openWorker(
      bullmqProcessor({
        "*": ({ id }) => {
          if (id === "dead") throw new Error("no");
        },
      }),
    );
    await settled("done");
    await settled("dead");
    await worker.close();
    await inbox.put([entryOf("leased")]);
    await openWorker(null).getNextJob("token");
    await inbox.put([entryOf("ready")]);
    await openInbox({ jobOptions: { priority: 2 } }).put([entryOf("prioritised")]);
    await openInbox({ jobOptions: { delay: 3_600_000 } }).put([entryOf("later")]);
    await openInbox({ jobOptions: { delay: 1 } }).put([entryOf("overdue")]);
    const counts = { ready: 3, waiting: 1, blocked: 0, paused: 0, leased: 1, unhandled: 0, dead: 1 };
    await expect.poll(async () => (await inbox.gauges()).counts).toEqual(counts);
    const { capped, oldestReadyMs } = await inbox.gauges();
    expect({ capped }).toEqual({ capped: [] });
    expect(oldestReadyMs).toBeGreaterThanOrEqual(0);
  });

  it("read the same keys however many events there are", async () => {
    const readBy = async () => {
      await redis.admin.config("RESETSTAT");
      await inbox.gauges();
      const calls = [...(await redis.admin.info("commandstats")).matchAll(/cmdstat_(\w+):calls=(\d+)/g)];
      const others = ["info", "config|resetstat", "config", "evalsha", "eval", "script", "ping"];
      return Object.fromEntries(
        calls.map(([, name, count]) => [name, count]).filter(([name = ""]) => !others.includes(name)),
      );
    };
    await inbox.put([entryOf("first")]);
    await inbox.gauges();
    const few = await readBy();
    await inbox.put(Array.from({ length: 500 }, (_, n) => entryOf(`other_${n}`)));
    expect(await readBy()).toEqual(few);
  });

  it("state the time of the last delivery, although events were imported since, or the event was deleted", async () => {
    const entry = entryOf("a", { receivedAt: new Date(Date.now() - 1000) });
    await inbox.put([entry]);
    const replay = { run: "import", rebuilt: true };
    await inbox.put([entryOf("b", { receivedAt: new Date("2999-01-01T00:00:00Z"), replay })]);
    await queue.drain();
    expect((await inbox.gauges()).lastReceivedAt).toEqual(entry.receivedAt);
  });
});
