// How the processes of a fleet open an engine.
import type { DedupeStore } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { redisStore } from "@esim-webhooks/store-redis";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import type { OperatedInbox, WorkedInbox } from "../../test/operators/engines.ts";
import type { EngineName } from "../engines.ts";

/** How a process of a fleet finds its engine, and what it is asked to do. It crosses the command line as JSON. */
export interface Task {
  readonly engine: EngineName;
  /** Whether receivers handle events inline, with their ids in a dedupe store. */
  readonly isInline: boolean;
  /** The path of a SQLite file, or a URL. */
  readonly place: string;
  readonly seed: string;
  /** The limit of one operation of the engine. */
  readonly timeoutMs: number;
  readonly leaseMs: number;
  /** How many replicas `redisStore` waits for. */
  readonly waitReplicas: number;
  /** How many events are sent, and over how long. */
  readonly events: number;
  readonly overMs: number;
  /** Every n-th run of a handler fails; 0: none does. A failing event is dead after three attempts. */
  readonly failEvery: number;
}

export const queue = "events";

/** The place, as this process reaches it. In a network namespace, the server has an address of its own. */
export function placeOf({ place }: Task): string {
  const address = process.env["SERVER_ADDRESS"];
  return address === undefined ? place : place.replace("127.0.0.1", address);
}

/** Opens the inbox for workers. */
export function openWorked(task: Task): WorkedInbox {
  const { engine, timeoutMs } = task;
  const place = placeOf(task);
  return engine === "sqlite"
    ? sqliteInbox({ path: place, timeoutMs })
    : postgresInbox({ url: place, timeoutMs });
}

/** Opens the inbox for receivers and operators. */
export function openInbox(task: Task): OperatedInbox {
  if (task.engine !== "bullmq") return openWorked(task);
  const jobOptions = {
    removeOnComplete: false, // so that all can be counted
    attempts: task.failEvery === 0 ? 1000 : 3,
    backoff: { type: "fixed", delay: 20 },
  };
  return bullmqInbox({ connection: placeOf(task), name: queue, timeoutMs: task.timeoutMs, jobOptions });
}

export function openStore(task: Task): DedupeStore {
  const { engine, timeoutMs, waitReplicas } = task;
  const place = placeOf(task);
  return engine === "postgres"
    ? postgresStore({ url: place, timeoutMs })
    : redisStore(place, { timeoutMs, waitReplicas });
}
