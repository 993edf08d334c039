import { setTimeout as pause } from "node:timers/promises";
import { eraseSubject, type HandlerContext, type InboxEntry } from "@esim-webhooks/core";
import { type BullmqInbox, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Queue, QueueEvents } from "bullmq";
import { beforeEach, expect, it, vi } from "vitest";
import { entry, fixedTime, key } from "../../../test/inbox-entry.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { nextOf, openersOn } from "./set-up.ts";

const redis = redisOfFile();
const { opened, openInbox, openQueue, openWorker } = openersOn(() => redis.server.url);
let inbox: BullmqInbox;
let queue: Queue;
beforeEach(() => {
  inbox = openInbox({ jobOptions: { attempts: 1 } });
  queue = openQueue();
});

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const none = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };

/** An event about an eSIM. */
function about(esimReference: string, id: string, changes: Partial<InboxEntry> = {}): InboxEntry {
  return { ...entry(id, { ...fixedTime, esim: esimReference }), trace, ...changes };
}

/** Everything in Redis as text, with what is in base64 decoded. */
async function stored(): Promise<string> {
  const texts = await Promise.all(
    (await redis.admin.keys("*")).map(async (key) => {
      const type = await redis.admin.type(key);
      if (type === "hash") return JSON.stringify(await redis.admin.hgetall(key));
      if (type === "stream") return JSON.stringify(await redis.admin.xrange(key, "-", "+"));
      return type === "string" ? await redis.admin.get(key) : "";
    }),
  );
  const text = texts.join("\n");
  const decoded = [...text.matchAll(/[\w+/=]{40,}/g)].map(([part]) => Buffer.from(part, "base64").toString());
  return [text, ...decoded].join("\n");
}

it("erases an eSIM's events in every state, and keeps what a redelivery needs", async () => {
  const entries = ["done", "dead", "leased", "ready", "first"].map((id) => about("esim_1", id));
  await inbox.put(entries.slice(0, 2));
  const worker = openWorker(
    bullmqProcessor({
      "*": ({ id, data }) => {
        if (id === "dead") throw new Error(`no ${JSON.stringify(data)}`);
      },
    }),
  );
  await expect.poll(() => inbox.stats()).toMatchObject({ states: { done: 1, dead: 1 } });
  await worker.close();
  await inbox.put(entries.slice(2, 3));
  const taker = openWorker(null);
  const leased = await taker.getNextJob("token");
  await inbox.put(entries.slice(3));
  await openInbox({ jobOptions: { delay: 3_600_000 } }).put([about("esim_1", "delayed")]);
  await openInbox({ jobOptions: { priority: 1 } }).put([about("esim_1", "prioritized")]);
  await inbox.put([about("esim_2", "other")]);
  expect(await stored()).toContain("esim_1");

  const { events } = await eraseSubject(inbox, "esim_1");
  expect(events).toEqual({ ready: 4, leased: 1, done: 1, unhandled: 0, dead: 1 });
  expect(await eraseSubject(inbox, "esim_1")).toMatchObject({ events: none });
  expect(await stored()).not.toContain("esim_1");
  const ids = [...entries.map(({ id }) => id), "delayed", "prioritized"];
  for (const id of ids) {
    expect(await inbox.get(key(id))).toMatchObject({
      state: "done",
      type: "esim.enabled",
      error: "erased",
      body: null,
      subject: null,
      trace: null,
      stack: null,
      history: [],
      erasedAt: expect.any(Date),
      receivedAt: expect.any(Date),
      settledAt: expect.any(Date),
    });
    expect(await inbox.put([about("esim_1", id)])).toEqual(["already_stored"]);
  }
  expect(await inbox.put([about("esim_3", "done")])).toEqual(["conflict"]);
  await expect(leased?.moveToCompleted({ outcome: "processed" }, "token", false)).rejects.toThrow(/lock/);
  expect(await stored()).not.toContain("esim_1");
  expect(await queue.getJobCounts("waiting", "active", "completed")).toEqual({
    waiting: 1,
    active: 0,
    completed: 7,
  });

  const ran: string[] = [];
  openWorker(bullmqProcessor({ "*": ({ id }) => void ran.push(id) }));
  await expect.poll(() => ran).toEqual(["other"]);
});

it("leaves nothing in BullMQ's stream of events of what a dead event failed with that an operator has deleted", async () => {
  await inbox.put([about("esim_1", "dead")]);
  const worker = openWorker(
    bullmqProcessor({
      "*": () => {
        throw new Error("no customer Erika");
      },
    }),
  );
  await expect.poll(() => inbox.stats()).toMatchObject({ states: { dead: 1 } });
  await worker.close();
  expect(await inbox.purgeDead({})).toBe(1);
  expect(await stored()).toContain("Erika");
  await eraseSubject(inbox, "esim_1");
  expect(await stored()).not.toContain("Erika");
  expect(await stored()).toContain('"failed"'); // who reads the stream still gets the event
});

it("keeps the run of an import, without what its record says", async () => {
  const replay = { run: "first", rebuilt: true, delivery: { status: "x" } };
  await inbox.put([about("esim_1", "a", { replay, key: "key:1a2b3c4d" })]);
  await inbox.erase("esim_1");
  expect(await inbox.get(key("a"))).toMatchObject({
    key: "key:1a2b3c4d",
    replay: { run: "first", rebuilt: true },
  });
  expect((await inbox.get(key("a")))?.replay).not.toHaveProperty("delivery");
});

it("discards the result of a handler that runs meanwhile, for each of its outcomes", async () => {
  const go = Promise.withResolvers<void>();
  const outcomes = [
    () => undefined,
    (context: HandlerContext) => context.retryLater(1),
    () => Promise.reject(new Error("no")),
  ];
  const started: string[] = [];
  const worker = openWorker(
    bullmqProcessor({
      "*": async ({ id }, context) => {
        started.push(id);
        await go.promise;
        return outcomes[Number(id)]?.(context);
      },
    }),
    { concurrency: 3 },
  );
  opened.push({ close: () => go.resolve() });
  await openInbox({ jobOptions: { attempts: 5, backoff: 1 } }).put(
    ["0", "1", "2"].map((id) => about("esim_1", id)),
  );
  await expect.poll(() => started.length).toBe(3);
  expect(await inbox.erase("esim_1")).toEqual({ ...none, leased: 3 });
  let errors = 0;
  const lost = new Promise<void>((resolve) => worker.on("error", () => ++errors === 3 && resolve()));
  go.resolve();
  await lost;
  await pause(50);
  expect(started).toHaveLength(3);
  expect(await stored()).not.toContain("esim_1");
  expect(await queue.getJobCounts("waiting", "active", "delayed", "failed", "completed")).toEqual({
    waiting: 0,
    active: 0,
    delayed: 0,
    failed: 0,
    completed: 3,
  });
});

it("erases every event, even while workers settle them and operators redrive them", async () => {
  for (let round = 0; round < 3; round += 1) {
    const esim = `esim_${round}`;
    const hasty = openInbox({ jobOptions: { attempts: 3, backoff: 1 } });
    await hasty.put(Array.from({ length: 250 }, (_, n) => about(esim, `${round}_${n}`)));
    let calls = 0;
    const worker = openWorker(
      bullmqProcessor({
        "*": async (_, context) => {
          calls += 1;
          if (calls % 3 === 0) throw new Error("no");
          if (calls % 3 === 1) return context.retryLater(1);
          await pause(1);
          return undefined;
        },
      }),
      { concurrency: 5 },
    );
    await nextOf(worker, "completed");
    const redriving = Promise.all(Array.from({ length: 10 }, () => inbox.redrive()));
    await eraseSubject(inbox, esim);
    await redriving;
    await eraseSubject(inbox, esim);
    expect(await stored()).not.toContain(esim);
    await worker.close();
    expect(await stored()).not.toContain(esim);
    expect(await inbox.stats()).toMatchObject({ states: { ready: 0, leased: 0 } });
  }
});

it("does not bring a body back when a redrive had read the event before it was erased", async () => {
  const worker = openWorker(bullmqProcessor({ "*": () => Promise.reject(new Error("no")) }));
  await inbox.put([about("esim_1", "a")]);
  await expect.poll(() => inbox.stats()).toMatchObject({ states: { dead: 1 } });
  await worker.close();
  const other = openInbox({ queue });
  vi.spyOn(queue, "getJobs").mockImplementationOnce(async (...range) => {
    const jobs = await Queue.prototype.getJobs.apply(queue, range);
    await inbox.erase("esim_1");
    return jobs;
  });
  expect(await other.redrive()).toBe(0);
  expect(await stored()).not.toContain("esim_1");
  expect(await inbox.get(key("a"))).toMatchObject({ state: "done", error: "erased", body: null });
});

it("erases at most as many as its limit in a call, in a queue of more than it reads in one step", async () => {
  await inbox.put(
    Array.from({ length: 450 }, (_, n) => about(n % 3 === 0 ? "esim_1" : "esim_2", `msg_${n}`)),
  );
  const first = await inbox.erase("esim_1", 70);
  expect(first).toEqual({ ...none, ready: 70 });
  expect((await eraseSubject(inbox, "esim_1")).events).toEqual({ ...none, ready: 80 });
  expect(await inbox.stats()).toMatchObject({ states: { ready: 300, done: 150 } });
});

it("neither hides nor repeats an event of the queue for those who listen to it", async () => {
  const listener = new QueueEvents("events", { connection: { url: redis.server.url } });
  opened.push(listener);
  listener.on("error", () => {});
  const added: string[] = [];
  listener.on("added", ({ jobId }) => added.push(jobId));
  await listener.waitUntilReady();
  for (let round = 0; round < 20; round += 1) {
    const put = (name: string) =>
      inbox.put(
        Array.from({ length: 20 }, (_, n) => about(`esim_${n % 2}_${round}`, `${name}_${round}_${n}`)),
      );
    await put("before");
    await Promise.all([inbox.erase(`esim_0_${round}`), put("meanwhile"), inbox.erase(`esim_1_${round}`)]);
  }
  await inbox.put([about("esim_2", "last")]);
  const all = await queue.getJobs(["waiting", "completed"], 0, -1);
  expect(all).toHaveLength(801);
  await expect.poll(() => added.length).toBeGreaterThanOrEqual(801);
  expect(added.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
});

it("removes the job of an erased event if done jobs are not kept, and remembers its id", async () => {
  const keepsNone = openInbox({ jobOptions: { removeOnComplete: true } });
  await keepsNone.put([about("esim_1", "a")]);
  expect(await keepsNone.erase("esim_1")).toEqual({ ...none, ready: 1 });
  expect(await queue.getJobCounts("waiting", "completed")).toEqual({ waiting: 0, completed: 0 });
  expect(await stored()).not.toContain("esim_1");
  expect(await inbox.get(key("a"))).toMatchObject({ state: "done", body: null });
  expect(await keepsNone.put([about("esim_1", "a")])).toEqual(["already_stored"]);
});

it("runs no handler for an erased event that a dashboard retries", async () => {
  await inbox.put([about("esim_1", "a")]);
  await inbox.erase("esim_1");
  const [job] = await queue.getJobs(["completed"]);
  await job?.retry("completed");
  const ran: unknown[] = [];
  const worker = openWorker(bullmqProcessor({ "*": (event) => void ran.push(event) }));
  const [completed] = await nextOf(worker, "completed");
  expect(completed.returnvalue).toEqual({ outcome: "discarded", reason: "erased" });
  expect(ran).toEqual([]);
});

it("refuses to select events by subject", async () => {
  const refused = { code: "invalid_input", message: expect.stringMatching(/by subject/) };
  await expect(inbox.list({ subject: "esim_1" })).rejects.toMatchObject(refused);
  await expect(inbox.count({ subject: "esim_1" })).rejects.toMatchObject(refused);
});
