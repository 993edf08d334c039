import * as z from "zod/mini";
import { askInTime } from "../base/ask.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import {
  durationMs,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import type { InboxAdmin } from "../store/inbox-admin.ts";
import type { Worker } from "../work/worker.ts";
import { watchStalls } from "./event-loop.ts";
import { type Check, type HealthHandler, healthHandler } from "./health.ts";

/** The part of a worker that the probe uses. */
export type WatchedWorker = Pick<Worker, "sinceLastTakeMs" | "isHealthy">;
/** The part of an inbox that the probe uses. */
export type WatchedInbox = Pick<InboxAdmin, "gauges">;

/** Options of `livenessHandler`. */
export interface LivenessOptions {
  /** The worker of this process. The process is not live while abandoned handlers of the worker fill its slots. */
  worker?: WatchedWorker | undefined;
  /** The inbox of the worker. With it, the process is not live if the worker takes nothing although an event is due. */
  inbox?: WatchedInbox | undefined;
  /**
   * For how long a worker may take nothing while an event is due, in ms. Set it longer than healthy handlers can keep all of its slots busy.
   * Default 300,000.
   */
  takeWithinMs?: number;
  /**
   * For how long the event loop may stall, in ms. After a longer stall the process is not live until it has run that long without another.
   * Default 10,000.
   */
  stallMs?: number;
  /** How long to wait for the inbox, in ms. If it does not answer, the worker is live. Default 2,000. */
  timeoutMs?: number;
  /** Gets a line when a check begins to fail or passes again. Default: silent. */
  logger?: Logger;
}

const shape: OptionsShape<SettingsOf<LivenessOptions, "worker" | "inbox">> = {
  worker: z.optional(withMethods<WatchedWorker>("sinceLastTakeMs", "isHealthy")),
  inbox: z.optional(withMethods<WatchedInbox>("gauges")),
  takeWithinMs: z._default(durationMs(1), 300_000),
  stallMs: z._default(durationMs(100), 10_000),
  timeoutMs: z._default(durationMs(1), 2000),
  logger: z._default(loggerOption, () => silentLogger),
};

export interface LivenessHandler extends HealthHandler {
  /** Stops watching the event loop. The watch does not keep the process alive. */
  close(): void;
}

/**
 * Answers whether this process should be restarted, for a liveness probe. Ignores conditions that a restart does not change: a store that
 * is down, a pause, an empty inbox. Throws `invalid_option`.
 */
export function livenessHandler(options: LivenessOptions = {}): LivenessHandler {
  const { worker, stallMs, logger, ...settings } = parseOptions("livenessHandler", shape, options);
  const stalls = watchStalls(stallMs);
  const loop: Check = () => {
    const ms = stalls.stalledMs();
    if (ms === 0) return undefined;
    return {
      code: "event_loop_stalled",
      problem: `The event loop has stalled for ${Math.round(ms)} ms: no delivery was answered, and no lease was renewed.`,
      remedy: "Do long computations in a worker thread, and give the process enough CPU.",
    };
  };
  const checks: (readonly [string, Check])[] = [["event_loop", loop]];
  if (worker !== undefined) checks.push(["worker", workerCheck(worker, settings)]);
  return Object.assign(healthHandler("liveness", checks, logger), { close: stalls.stop });
}

interface WorkerBounds {
  readonly inbox?: WatchedInbox | undefined;
  readonly takeWithinMs: number;
  readonly timeoutMs: number;
}

function workerCheck(worker: WatchedWorker, { inbox, takeWithinMs, timeoutMs }: WorkerBounds): Check {
  const gauges =
    inbox &&
    askInTime(() => inbox.gauges(), {
      withinMs: timeoutMs,
      keptMs: 1000,
      late: () => new WebhookError("store_unavailable", "The inbox did not answer.", "Check that it is up."),
    });
  let countedFrom = performance.now();

  /** Returns for how long no `take` was answered, in ms. Counts from 0 again after the inbox did not answer this check. */
  const idleMs = () =>
    Math.min(worker.sinceLastTakeMs() ?? Number.POSITIVE_INFINITY, performance.now() - countedFrom);

  async function isEventOverdue(ask: () => ReturnType<WatchedInbox["gauges"]>): Promise<boolean> {
    try {
      return ((await ask()).oldestReadyMs ?? 0) > takeWithinMs;
    } catch {
      countedFrom = performance.now(); // a restart does not bring the inbox back
      return false;
    }
  }

  return async () => {
    if (!worker.isHealthy())
      return {
        code: "handlers_abandoned",
        problem: "The worker takes no more events: as many abandoned handlers run as it has slots.",
        remedy: "Restart it, and let handlers stop when context.signal aborts.",
      };
    // the inbox is asked only if the worker is idle; when it has answered, the worker may have taken an event
    if (gauges === undefined || idleMs() <= takeWithinMs) return undefined;
    if (!(await isEventOverdue(gauges)) || idleMs() <= takeWithinMs) return undefined;
    return {
      code: "worker_stuck",
      problem: `The worker has taken nothing for more than ${takeWithinMs} ms, and an event was due for all that time.`,
      remedy:
        "Restart it. If its handlers may all run for longer, raise takeWithinMs; if they hang, give them a time limit with timeoutMs.",
    };
  };
}
