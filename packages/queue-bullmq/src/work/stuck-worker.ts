import type { Logger } from "@esim-webhooks/core";
import { parseOptions } from "@esim-webhooks/core/engine";
import { processorShape } from "@esim-webhooks/core/internal";
import type { BullmqProcessor } from "./bullmq-processor.ts";

/** The part of BullMQ's `Worker` that pauses it while it is stuck. */
export interface PausableWorker {
  /** How many jobs it can run at the same time. */
  readonly concurrency: number;
  /** Takes no more jobs. With true, it does not wait for those that run. */
  pause(doNotWaitActive: boolean): Promise<void>;
  /** Takes jobs again. */
  resume(): unknown;
  /** Whether it is paused. */
  isPaused(): boolean;
}

/** Watches whether a worker is stuck. */
export interface StuckWatch {
  /** Returns whether it is stuck: as many abandoned handlers run as it has slots. Pauses it then, and resumes it once one of them has ended. */
  check(): boolean;
  /** Ends the watch: it neither pauses nor resumes the worker any more. */
  stop(): void;
}

const checkMs = 500;

export function watchStuck(
  worker: PausableWorker,
  processor: Pick<BullmqProcessor, "abandoned">,
  logger: Logger,
): StuckWatch {
  let isPausedByUs = false;
  let isStopped = false;

  function check(): boolean {
    const isStuck = processor.abandoned() >= worker.concurrency;
    if (isStopped) return isStuck;
    if (isStuck && !isPausedByUs && !worker.isPaused()) {
      isPausedByUs = true;
      logger.error(
        {},
        "The worker takes no more events: as many abandoned handlers run as it has slots. Restart it, and let handlers stop when context.signal aborts.",
      );
      void worker.pause(true).catch(() => {}); // true: the abandoned handlers have lost their jobs, and the others finish
    }
    if (!isStuck && isPausedByUs) {
      isPausedByUs = false;
      void worker.resume();
    }
    return isStuck;
  }

  const timer = setInterval(check, checkMs);
  timer.unref();
  return {
    check,
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

/** Options of `pauseWhileStuck`. */
export interface StuckWatchOptions {
  /** Gets a line when the worker becomes stuck: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

/**
 * For a `Worker` of your own: pauses it, so that it takes no jobs, while as many abandoned handlers run as it has slots. Returns a
 * function that ends the watch; call it before you close the worker. Workers of `createWorker` do it by themselves. Throws `invalid_option`.
 */
export function pauseWhileStuck(
  worker: PausableWorker,
  processor: Pick<BullmqProcessor, "abandoned">,
  options: StuckWatchOptions = {},
): () => void {
  const { logger } = parseOptions("pauseWhileStuck", { logger: processorShape.logger }, options);
  return watchStuck(worker, processor, logger).stop;
}
