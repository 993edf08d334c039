import { hostname } from "node:os";
import type { WorkerPresence } from "@esim-webhooks/core";
import { packageVersion } from "@esim-webhooks/core/kit";
import type { BullmqQueue } from "../redis/queue.ts";

const longestHost = 60;

/** The name under which a worker connects to Redis, which is all that others can see of it. */
export function workerName(concurrency: number): string {
  const host = encodeURIComponent(hostname().slice(0, longestHost));
  return ["esim-webhooks", host, process.pid, packageVersion, concurrency].join(":");
}

const pattern = /:w:esim-webhooks:([^:]+):(\d+):([^:]+):(\d+)$/;

/** The workers of `createWorker` that are connected now. Redis knows nothing of what they do. */
export async function connectedWorkers(queue: BullmqQueue): Promise<WorkerPresence[]> {
  const now = Date.now();
  const clients = await queue.getWorkers();
  const workers = clients.flatMap(({ id = "", rawname = "", age = "0" }) => {
    const [, host, pid, version, concurrency] = pattern.exec(rawname) ?? [];
    if (host === undefined || version === undefined) return [];
    const name = decodeURIComponent(host);
    return {
      id: `${name}:${pid}:${id}`,
      host: name,
      pid: Number(pid),
      version,
      startedAt: new Date(now - Number(age) * 1000),
      concurrency: Number(concurrency),
      running: null,
      lastTakeAt: null,
      seenAt: new Date(now),
    };
  });
  return workers.sort((a, b) => (a.id < b.id ? -1 : 1));
}
