/** The part of BullMQ's `Job` in which the wait of its event is kept. */
interface WaitingJob {
  readonly data: unknown;
  updateData(data: unknown): Promise<unknown>;
}

/** The wait is in the data of the job, next to the event, since BullMQ has no place for it. */
interface WaitingData {
  /** When its handler first returned `retryLater`, in ms since 1970. */
  readonly waitingSince?: number;
}

/** For how long the handlers of a job have put it off, in ms; 0 if they have not. */
export function waitedMs({ data }: WaitingJob): number {
  const { waitingSince } = data as WaitingData;
  return waitingSince === undefined ? 0 : Date.now() - waitingSince;
}

/** Notes that a job waits, if it has not waited before. */
export async function noteWait(job: WaitingJob): Promise<void> {
  const data = job.data as WaitingData;
  if (data.waitingSince === undefined) await job.updateData({ ...data, waitingSince: Date.now() });
}

/** For a job that is dead, so that it can wait again when it is redriven, also by a dashboard. */
export async function forgetWait(job: WaitingJob): Promise<void> {
  const { waitingSince, ...data } = job.data as WaitingData;
  if (waitingSince !== undefined) await job.updateData(data);
}
