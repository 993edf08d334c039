import { DelayedError } from "bullmq";
import type { JobResult } from "./ending.ts";
import type { EventJob } from "./event-job.ts";
import type { StuckWatch } from "./stuck-worker.ts";

type ProcessJob = (job: EventJob, token?: string, signal?: AbortSignal) => Promise<JobResult>;

/** The jobs that a worker has taken and not yet ended. */
export interface TakenJobs {
  /** The processor, for the worker. */
  readonly process: ProcessJob;
  /** How many jobs there are. */
  running(): number;
  /**
   * Ends all of them, and every later one: they are due again immediately, with no attempt spent. What their handlers still do
   * has no effect.
   */
  giveBack(): void;
}

export function createTakenJobs(
  processor: ProcessJob,
  checkStuck: StuckWatch["check"],
  onDelayed: () => void,
): TakenJobs {
  const taken = new Set<() => void>();
  let isStopped = false;

  return {
    // BullMQ passes a signal only to a function with three parameters
    process(job, token, signal) {
      if (isStopped || checkStuck()) return backToQueue(job, token); // a take was under way
      return new Promise((resolve, reject) => {
        const giveBack = () => resolve(backToQueue(job, token)); // the later result of the processor has no effect
        taken.add(giveBack);
        processor(job, token, signal)
          .finally(() => {
            taken.delete(giveBack);
            checkStuck(); // before BullMQ takes the next job with this result
          })
          .then(resolve, (error) => {
            if (error instanceof DelayedError) onDelayed();
            reject(error);
          });
      });
    },
    running: () => taken.size,
    giveBack() {
      isStopped = true;
      for (const giveBack of taken) giveBack();
    },
  };
}

async function backToQueue(job: EventJob, token: string | undefined): Promise<never> {
  await job.moveToDelayed(Date.now(), token);
  throw new DelayedError();
}
