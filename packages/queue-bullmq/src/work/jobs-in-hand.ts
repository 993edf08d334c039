import { DelayedError } from "bullmq";
import type { EventJob } from "./bullmq-processor.ts";
import type { JobResult } from "./ending.ts";

type ProcessJob = (job: EventJob, token?: string, signal?: AbortSignal) => Promise<JobResult>;

/** The jobs that a worker has taken and not yet ended. */
export interface JobsInHand {
  /** The processor, for the worker. */
  readonly process: ProcessJob;
  /**
   * Ends all of them, and every later one: they are due again at once, with no attempt spent. What their handlers still do
   * changes nothing.
   */
  giveBack(): void;
}

export function createJobsInHand(processor: ProcessJob): JobsInHand {
  const inHand = new Set<() => void>();
  let isStopped = false;
  return {
    // BullMQ passes a signal only to a function with three parameters
    process(job, token, signal) {
      if (isStopped) return backToQueue(job, token); // a take was under way
      return new Promise((resolve, reject) => {
        const giveBack = () => resolve(backToQueue(job, token)); // the result of the processor comes too late then
        inHand.add(giveBack);
        processor(job, token, signal)
          .finally(() => inHand.delete(giveBack))
          .then(resolve, reject);
      });
    },
    giveBack() {
      isStopped = true;
      for (const giveBack of inHand) giveBack();
    },
  };
}

async function backToQueue(job: EventJob, token: string | undefined): Promise<never> {
  await job.moveToDelayed(Date.now(), token);
  throw new DelayedError();
}
