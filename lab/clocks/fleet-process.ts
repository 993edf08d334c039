// A process of the fleet: receives deliveries and handles their events, on the engine of TASK. Commands are lines on standard input:
// `pause <seconds>`, `purge`; each is answered with a line when it is done. It logs each start and end of a handler in the journal of its trial.
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import {
  createWorker,
  type EsimEvents,
  type Handlers,
  type Inbox,
  type InboxAdmin,
  nodeHandler,
} from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import type { EngineName } from "../engines.ts";
import { sayAnswer } from "./answers.ts";

/** The input of a process. Plain JSON. */
export interface ProcessTask {
  readonly engine: EngineName;
  /** The path of the SQLite file, or the URL of the server. */
  readonly at: string;
  /** The schema, the prefix of keys, or the name of the queue of this trial. */
  readonly name: string;
  readonly process: number;
  readonly secret: string;
  /** In place of the secret: the file of the keys. */
  readonly keyFile?: string;
  readonly leaseMs: number;
  readonly journal: string;
  /** Held handlers wait until there is such a file. */
  readonly release: string;
}

const task = JSON.parse(process.env["TASK"] ?? "{}") as ProcessTask;
const { at, name, leaseMs } = task;
const secret = task.keyFile === undefined ? task.secret : fileKeySource(task.keyFile);
const retryMs = 1500;
const timeoutMs = 30_000; // for a machine that does more at the same time
const journal = openSync(task.journal, "a");
const note = (...words: readonly string[]) =>
  void writeSync(journal, `${[task.process, ...words].join(" ")}\n`);

/** Handlers that note the state of the event's row when they start, if it has one. */
function handlersOn(inbox?: Pick<InboxAdmin, "get">): Handlers<EsimEvents> {
  return {
    "*": async ({ id, type }, { source }) => {
      const row = await inbox?.get({ source, id });
      note("start", id, row?.state ?? "unknown");
      if (type === "esim.disabled" && isFirstTime(id)) {
        note("fail", id);
        throw new Error("the first attempt fails");
      }
      while (type === "esim.deleted" && !existsSync(task.release)) await pause(20);
      note("end", id);
    },
  };
}

/** Whether no process of the trial has asked for this event before. */
function isFirstTime(id: string): boolean {
  try {
    closeSync(openSync(`${task.journal}.${id}`, "wx"));
    return true;
  } catch {
    return false;
  }
}

interface Program {
  readonly listener: RequestListener;
  readonly inbox?: Inbox;
}

function work(inbox: Inbox): Program {
  const options = { leaseMs, pollMs: 100, concurrency: 6, backoff: () => retryMs };
  const worker = createWorker(inbox, handlersOn(inbox), options);
  void worker.run({ signal: new AbortController().signal });
  return { listener: nodeHandler(inbox, { secret }), inbox };
}

// each imports its packages itself: a process that starts is most of the time that a trial takes
const programs: Readonly<Record<EngineName, () => Promise<Program>>> = {
  async sqlite() {
    const { sqliteInbox } = await import("@esim-webhooks/store-sqlite");
    const inbox = sqliteInbox({ path: at, timeoutMs });
    await inbox.ready();
    return work(inbox);
  },
  async postgres() {
    const { postgresInbox } = await import("@esim-webhooks/store-postgres");
    const inbox = postgresInbox({ url: at, schema: name, timeoutMs });
    await inbox.migrate();
    return work(inbox);
  },
  async redis() {
    const { redisStore } = await import("@esim-webhooks/store-redis");
    const store = redisStore(at, { keyPrefix: `${name}:`, timeoutMs });
    await store.ready();
    return { listener: nodeHandler(handlersOn(), { secret, store, leaseMs }) };
  },
  async bullmq() {
    const { bullmqInbox, bullmqProcessor } = await import("@esim-webhooks/queue-bullmq");
    const { Worker } = await import("bullmq");
    const backoff = { type: "fixed", delay: retryMs } as const;
    const inbox = bullmqInbox({
      connection: at,
      name,
      timeoutMs,
      jobOptions: { backoff, removeOnComplete: false },
    });
    await inbox.ready();
    const connection = { url: at, maxRetriesPerRequest: null };
    const limits = { lockDuration: leaseMs, stalledInterval: 1000, maxStalledCount: 1000, concurrency: 6 };
    const worker = new Worker(name, bullmqProcessor(handlersOn(inbox)), { connection, ...limits });
    worker.on("error", () => {});
    await worker.waitUntilReady();
    return { listener: nodeHandler(inbox, { secret }) };
  },
};

const { listener, inbox } = await programs[task.engine]();
const server = createServer(listener).listen(0, "127.0.0.1", () => {
  sayAnswer((server.address() as AddressInfo).port);
});
const commands = createInterface(process.stdin).on("close", () => process.exit()); // the laboratory has ended
commands.on("line", (line) => {
  const [command, seconds] = line.split(" ");
  void (async () => {
    const until = new Date(Date.now() + Number(seconds) * 1000);
    if (command === "purge") await inbox?.purge(1000);
    else await inbox?.pause({ types: ["esim.installed"], reason: "a trial of clocks", until });
    sayAnswer("done");
  })();
});
