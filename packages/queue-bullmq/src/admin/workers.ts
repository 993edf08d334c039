import { hostname } from "node:os";
import type { WorkerPresence } from "@esim-webhooks/core";
import { packageVersion } from "@esim-webhooks/core/internal";
import type { BullmqQueue } from "../redis/queue.ts";

const longestHost = 60;

/** The name under which a worker connects to Redis, which is all that others can see of it. */
export function workerName(concurrency: number): string {
  const host = encodeURIComponent(hostname().slice(0, longestHost));
  return ["esim-webhooks", host, process.pid, packageVersion, concurrency].join(":");
}

const pattern = /:w:esim-webhooks:([^:]+):(\d+):([^:]+):(\d+)$/;

/** The workers that are connected now. Redis knows nothing of what they do, and of a `Worker` of the user's own only its address. */
export async function connectedWorkers(queue: BullmqQueue): Promise<WorkerPresence[]> {
  const now = Date.now();
  const clients = await queue.getWorkers();
  const workers = clients.map(({ id = "", rawname = "", age = "0", addr = "" }) => {
    const [, named, pid, version, concurrency] = pattern.exec(rawname) ?? [];
    const host = named === undefined ? addr.replace(/:\d+$/, "") : decodeURIComponent(named);
    return {
      id: `${host}:${pid ?? "–"}:${id}`,
      host,
      pid: pid === undefined ? null : Number(pid),
      version: version ?? null,
      startedAt: new Date(now - Number(age) * 1000),
      concurrency: concurrency === undefined ? null : Number(concurrency),
      running: null,
      lastTakeAt: null,
      seenAt: new Date(now),
    };
  });
  return workers.sort((a, b) => (a.id < b.id ? -1 : 1));
}
