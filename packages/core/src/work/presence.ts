import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../base/logger.ts";
import { packageVersion } from "../base/version.ts";
import { hasRole } from "../store/inbox.ts";
import type { InboxAdmin } from "../store/inbox-admin.ts";
import type { InboxQueue, WorkerReport } from "../store/inbox-queue.ts";
import type { Pause } from "../store/pause.ts";

/** The fields that are the same in every report of a worker. */
export type WorkerIdentity = Pick<WorkerReport, "id" | "host" | "pid" | "version">;

const longestHost = 60;

export function createIdentity(): WorkerIdentity {
  const host = hostname().slice(0, longestHost);
  const id = `${host}:${process.pid}:${randomBytes(3).toString("hex")}`;
  return { id, host, pid: process.pid, version: packageVersion };
}

const reportEveryMs = 10_000;

/**
 * Reports to the inbox every ten seconds, until the signal aborts, and logs the pauses that have begun or ended since the last report. Ignores
 * a report that fails.
 */
export async function keepPresent(
  inbox: Pick<InboxQueue, "report" | "capabilities">,
  worker: WorkerIdentity,
  signal: AbortSignal,
  now: () => Pick<WorkerReport, "concurrency" | "running" | "sinceLastTakeMs">,
  logger: Logger,
  everyMs: number = reportEveryMs,
): Promise<void> {
  const { report } = inbox;
  const logPauses = hasRole(inbox, "admin") ? createPauseLog(inbox, logger) : undefined;
  if (report === undefined && logPauses === undefined) return;
  const startedAt = performance.now();
  while (!signal.aborted) {
    const startedMsAgo = performance.now() - startedAt;
    await Promise.allSettled([report?.call(inbox, { ...worker, ...now(), startedMsAgo }), logPauses?.()]);
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
}

/** Returns a function that logs the pauses that have begun, or ended, since it was last called. */
function createPauseLog(inbox: Pick<InboxAdmin, "paused">, logger: Logger): () => Promise<void> {
  let known: ReadonlyMap<string, Pause> = new Map();
  return async () => {
    const pauses = new Map((await inbox.paused()).map((each) => [nameOf(each), each]));
    for (const [name, begun] of pauses)
      if (!known.has(name)) logger.warn(fieldsOf(begun), "Events are paused: workers do not take them.");
    for (const [name, ended] of known)
      if (!pauses.has(name)) logger.info(fieldsOf(ended), "A pause of events has ended.");
    known = pauses;
  };
}

/** Returns a text that identifies a pause. Another pause of the same type has another text. */
function nameOf({ type, since, until, reason, by }: Pause): string {
  return JSON.stringify([type, since, until, reason, by]);
}

/** Returns the fields of a pause's log line. */
function fieldsOf({ type, ...pause }: Pause) {
  return { type: type ?? "all types", ...pause };
}
