// A process of a fleet: <role> <task as JSON>. It says each step by writeSync, so that a kill loses no line.
import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
  type Awaitable,
  createWorker,
  type DedupeStore,
  eraseSubject,
  type HandlerContext,
  nodeHandler,
} from "@esim-webhooks/core";
import { signedRequest } from "@esim-webhooks/core/testing";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Worker } from "bullmq";
import { answerTo } from "../../test/deliver.ts";
import { listen } from "../../test/listen.ts";
import { writeEffect } from "../../test/operators/engines.ts";
import { seededRandom } from "../simulation/random.ts";
import { openInbox, openStore, openWorked, placeOf, queue, type Task } from "./engines.ts";
import { erasedEsims, eventOf, idOf, type Operation, operations, pausedType } from "./events.ts";

const [role = "", json = "{}"] = process.argv.slice(2);
const task = JSON.parse(json) as Task;
const random = seededRandom(task.seed);
const secret = "whsec_bGFib3JhdG9yeSBmbGVldHMgaW4gdGhlIHdpbGQgISE=";
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const say = (line: string) => writeSync(1, `${line}\n`);

let runs = 0;
async function handle({ id }: { readonly id: string }, { tx }: HandlerContext): Promise<void> {
  runs += 1;
  say(`began ${id} ${Date.now()}`);
  const isFailing = task.failEvery > 0 && runs % task.failEvery === 0;
  if (tx !== undefined) await writeEffect(task.engine as "sqlite" | "postgres", "esim_webhooks", tx, id);
  await pause(random.between(20, 250));
  if (isFailing) throw new Error("a handler that fails");
  say(`handled ${id} ${Date.now()}`);
}

const slowestMs = { answer: 0, call: 0 };
const saySlowest = () => say(`slowest ${Math.round(slowestMs.answer)} ${Math.round(slowestMs.call)}`);

async function timed<T>(what: keyof typeof slowestMs, run: () => Awaitable<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await run();
  } finally {
    slowestMs[what] = Math.max(slowestMs[what], performance.now() - startedAt);
  }
}

/** A store whose calls are timed: a receiver that repeats them can answer much later. It says by which claim each event was completed. */
function timedStore(store: DedupeStore): DedupeStore {
  return {
    ...store,
    claim: (...given) => timed("call", () => store.claim(...given)),
    extend: (...given) => timed("call", () => store.extend(...given)),
    async complete(key, token) {
      const isCompleted = await timed("call", () => store.complete(key, token));
      if (isCompleted) say(`completed ${key.id} ${token}`);
      return isCompleted;
    },
    release: (...given) => timed("call", () => store.release(...given)),
  };
}

/** Receives, and plays the sender: delivers every event until it is acknowledged. */
async function receive(): Promise<void> {
  const handler = task.isInline
    ? nodeHandler({ "*": handle }, { secret, store: timedStore(openStore(task)), leaseMs: task.leaseMs })
    : nodeHandler(openInbox(task), { secret });
  const server = await listen(handler, "/", handler.close);
  say("working");
  const deliver = async (id: string) => {
    await pause(random.between(0, task.overMs));
    for (;;) {
      const request = signedRequest(eventOf(id), { secret });
      const { status } = await timed("answer", () => answerTo(server.url, request));
      if (status === 200 || status === 202) return say(`acknowledged ${id} ${Date.now()}`);
      const isOfHandler = status === 500 && task.failEvery > 0;
      if (status !== 503 && !isOfHandler) say(`refused ${id} ${status}`);
      await pause(200);
    }
  };
  const reporting = setInterval(saySlowest, 1000);
  await Promise.all(Array.from({ length: task.events }, (_, n) => deliver(idOf(n))));
  clearInterval(reporting);
  saySlowest();
  await server.close();
  process.exit(0);
}

async function work(): Promise<void> {
  if (task.engine === "bullmq") return workQueue();
  const inbox = openWorked(task);
  const options = {
    leaseMs: task.leaseMs,
    pollMs: 100,
    concurrency: 10,
    maxAttempts: task.failEvery === 0 ? 1000 : 3,
    backoff: () => 20,
  };
  say("working");
  await createWorker(inbox, { "*": handle as never }, options).run({ signal: stopping.signal });
  await inbox.close();
}

async function workQueue(): Promise<void> {
  const worker = new Worker(queue, bullmqProcessor({ "*": handle as never }), {
    connection: {
      url: placeOf(task),
      maxRetriesPerRequest: null,
      reconnectOnError: ({ message }: Error) => message.includes("READONLY"),
    },
    concurrency: 10,
    maxStalledCount: 1000,
    lockDuration: task.leaseMs,
    stalledInterval: 500,
  });
  worker.on("error", () => {}); // Redis is down
  await worker.waitUntilReady();
  say("working");
  stopping.signal.addEventListener("abort", () => void worker.close());
}

/** Pauses, resumes, redrives and erases at random, until it is stopped or killed. */
async function operate(): Promise<void> {
  const inbox = openInbox(task);
  const types = task.engine === "bullmq" ? {} : { types: [pausedType] }; // BullMQ pauses a queue as a whole
  const uses: Readonly<Record<Operation, () => Promise<unknown>>> = {
    pause: () => inbox.pause({ ...types, reason: "laboratory" }),
    resume: () => inbox.resume(),
    redrive: () => inbox.redrive({ state: "dead" }),
    erase() {
      const esim = random.pick(erasedEsims);
      say(`erasing ${esim} ${Date.now()}`);
      return eraseSubject(inbox, esim);
    },
  };
  say("working");
  while (!stopping.signal.aborted) {
    const operation = random.pick(operations);
    await uses[operation]()
      .then(() => say(`operated ${operation}`))
      .catch((error: Error) => say(`not operated: ${error.message}`));
    await pause(random.between(20, 200));
  }
  await inbox.close();
}

const roles: Readonly<Record<string, () => Promise<void>>> = { receive, work, operate };
await roles[role]?.();
