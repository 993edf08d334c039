// A process of a fleet: <role> <task as JSON>. It says each step by writeSync, so that a kill loses no line.
import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker, eraseSubject, type HandlerContext, nodeHandler } from "@esim-webhooks/core";
import { signedRequest } from "@esim-webhooks/core/testing";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Worker } from "bullmq";
import { answerTo } from "../../test/deliver.ts";
import { listen } from "../../test/listen.ts";
import { writeEffect } from "../../test/operators/engines.ts";
import { seededRandom } from "../simulation/random.ts";
import { openInbox, openStore, openWorked, placeOf, queue, type Task } from "./engines.ts";
import { erasedEsims, eventOf, idOf, pausedType } from "./events.ts";

const [role = "", json = "{}"] = process.argv.slice(2);
const task = JSON.parse(json) as Task;
const random = seededRandom(`${task.seed} ${role} ${process.pid}`);
const secret = "whsec_bGFib3JhdG9yeSBmbGVldHMgaW4gdGhlIHdpbGQgISE=";
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const say = (line: string) => writeSync(1, `${line}\n`);

let runs = 0;
async function handle({ id }: { readonly id: string }, { tx }: HandlerContext): Promise<void> {
  runs += 1;
  const isFailing = task.failEvery > 0 && runs % task.failEvery === 0;
  if (tx !== undefined) await writeEffect(task.engine as "sqlite" | "postgres", "esim_webhooks", tx, id);
  await pause(random.between(20, 250));
  if (isFailing) throw new Error("a handler that fails");
  say(`handled ${id} ${Date.now()}`);
}

/** Receives, and plays the sender: delivers every event until it is acknowledged. */
async function receive(): Promise<void> {
  const opened = task.engine === "redis" ? openStore(task) : openInbox(task);
  const handler =
    "claim" in opened
      ? nodeHandler({ "*": handle }, { secret, store: opened, leaseMs: task.leaseMs })
      : nodeHandler(opened, { secret });
  const server = await listen(handler, "/", handler.close);
  say("working");
  let slowestMs = 0;
  const deliver = async (id: string) => {
    await pause(random.between(0, task.overMs));
    for (;;) {
      const sentAt = performance.now();
      const { status } = await answerTo(server.url, signedRequest(eventOf(id), { secret }));
      slowestMs = Math.max(slowestMs, performance.now() - sentAt);
      if (status === 200 || status === 202) return say(`acknowledged ${id} ${Date.now()}`);
      if (status !== 503) say(`refused ${id} ${status}`);
      await pause(200);
    }
  };
  const reporting = setInterval(() => say(`slowest ${Math.round(slowestMs)}`), 1000);
  await Promise.all(Array.from({ length: task.events }, (_, n) => deliver(idOf(n))));
  clearInterval(reporting);
  say(`slowest ${Math.round(slowestMs)}`);
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
  const uses: readonly (() => Promise<unknown>)[] = [
    () => inbox.pause({ types: [pausedType], reason: "laboratory" }),
    () => inbox.resume(),
    () => inbox.redrive({ state: "dead" }),
    () => eraseSubject(inbox, random.pick(erasedEsims)),
  ];
  say("working");
  while (!stopping.signal.aborted) {
    await random
      .pick(uses)()
      .then(() => say("operated"))
      .catch((error: Error) => say(`not operated: ${error.message}`));
    await pause(random.between(20, 200));
  }
  await inbox.close();
}

const roles: Readonly<Record<string, () => Promise<void>>> = { receive, work, operate };
await roles[role]?.();
