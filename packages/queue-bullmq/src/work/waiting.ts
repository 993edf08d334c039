import type { EventJob } from "./bullmq-processor.ts";

/** What is in the data of a job beside its event, since BullMQ has no place for it: when its handler first returned `retryLater`. */
interface WaitingData {
  readonly waitingSince?: number;
}

/** For how long the handlers of a job have put it off, in ms; 0 if they have not. */
export function waitedMs({ data }: EventJob): number {
  const { waitingSince } = data as WaitingData;
  return waitingSince === undefined ? 0 : Date.now() - waitingSince;
}

/** Notes that a job waits, if it has not waited before. */
export async function noteWait(job: EventJob): Promise<void> {
  const data = job.data as WaitingData;
  if (data.waitingSince === undefined) await job.updateData({ ...data, waitingSince: Date.now() });
}

/** For a job that is dead, so that it can wait again when it is redriven, also by a dashboard. */
export async function forgetWait(job: EventJob): Promise<void> {
  const { waitingSince, ...data } = job.data as WaitingData;
  if (waitingSince !== undefined) await job.updateData(data);
}
