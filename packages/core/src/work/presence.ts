import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { packageVersion } from "../base/version.ts";
import type { InboxQueue, WorkerReport } from "../store/inbox-queue.ts";

/** What is the same in every report of a worker. */
export type WorkerIdentity = Pick<WorkerReport, "id" | "host" | "pid" | "version">;

const longestHost = 60;

export function createIdentity(): WorkerIdentity {
  const host = hostname().slice(0, longestHost);
  const id = `${host}:${process.pid}:${randomBytes(3).toString("hex")}`;
  return { id, host, pid: process.pid, version: packageVersion };
}

const reportEveryMs = 10_000;

/** Reports to the inbox every ten seconds, until the signal aborts. An inbox that does not answer misses a report. */
export async function keepPresent(
  inbox: Pick<InboxQueue, "report">,
  worker: WorkerIdentity,
  signal: AbortSignal,
  now: () => Pick<WorkerReport, "concurrency" | "running" | "sinceLastTakeMs">,
): Promise<void> {
  const { report } = inbox;
  if (report === undefined) return;
  const startedAt = performance.now();
  while (!signal.aborted) {
    const startedMsAgo = performance.now() - startedAt;
    await report.call(inbox, { ...worker, ...now(), startedMsAgo }).catch(() => {});
    await pause(reportEveryMs, undefined, { signal }).catch(() => {});
  }
}
