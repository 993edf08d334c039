import type { JobProgress } from "bullmq";

/** The part of BullMQ's `Job` that shows since when its event was put off, and since when it was due. */
interface WaitingJob {
  readonly data: unknown;
  readonly progress: unknown;
  readonly timestamp: number;
  readonly processedOn?: number | undefined;
  readonly attemptsStarted: number;
  readonly opts: { readonly delay?: number };
  updateProgress(progress: JobProgress): Promise<unknown>;
}

/**
 * The wait is the progress of the job, since BullMQ has no other place for it. It cannot be in the job's data: BullMQ would write the data
 * even after another program has changed it, and so could bring back the body of an event that was erased.
 */
interface Wait {
  /** When its handler first called `retryLater`, in ms since the Unix epoch. */
  readonly waitingSince?: number;
}

function waitOf({ progress }: WaitingJob): Wait {
  return typeof progress === "object" && progress !== null ? progress : {};
}

/** For how long the handlers of a job have put it off, in ms; 0 if they have not. */
export function waitedMs(job: WaitingJob): number {
  const { waitingSince } = waitOf(job);
  return waitingSince === undefined ? 0 : Date.now() - waitingSince;
}

/** Notes that a job waits, if it has not waited before. */
export async function noteWait(job: WaitingJob): Promise<void> {
  if (waitOf(job).waitingSince === undefined) await job.updateProgress({ waitingSince: Date.now() });
}

/** Forgets the wait of a dead job, so that its event can be put off again after a redrive, also one by a dashboard. */
export async function forgetWait(job: WaitingJob): Promise<void> {
  if (waitOf(job).waitingSince !== undefined) await job.updateProgress(0);
}

/** For how long a job was due before it was taken, in ms. Undefined for a retry: BullMQ does not keep when its pause ended. */
export function waitMsOf({
  data,
  timestamp,
  processedOn,
  attemptsStarted,
  opts,
}: WaitingJob): number | undefined {
  if (processedOn === undefined || attemptsStarted > 1) return undefined;
  const { redrivenAt = 0 } = data as { readonly redrivenAt?: number };
  return Math.max(0, processedOn - Math.max(timestamp + (opts.delay ?? 0), redrivenAt));
}
