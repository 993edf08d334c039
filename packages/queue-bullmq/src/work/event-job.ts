import { type InboxEntry, WebhookError } from "@esim-webhooks/core";
import { decodeEntry } from "@esim-webhooks/core/engine";
import { isInstance, readThrown } from "@esim-webhooks/core/internal";
import { type JobProgress, RATE_LIMIT_ERROR, UnrecoverableError } from "bullmq";

/** The part of BullMQ's `Job` that the processor calls. */
export interface EventJob {
  /** Identifies the job, not the event. */
  readonly id?: string | undefined;
  /** The encoded entry of the event. */
  readonly data: unknown;
  /** Where the processor keeps since when its handlers have put the event off. */
  readonly progress: unknown;
  /** When it was added, in ms since 1970. */
  readonly timestamp: number;
  /** How many attempts have begun, this one included. */
  readonly attemptsStarted: number;
  /** How many attempts have failed. At `opts.attempts`, the job has failed. */
  readonly attemptsMade: number;
  /** How many times its worker ended, or lost its lock, while it was active. */
  readonly stalledCounter: number;
  /** When a worker took it last, in ms since 1970. */
  readonly processedOn?: number | undefined;
  /** When BullMQ ended it, in ms since 1970. Absent while it will be tried again. */
  readonly finishedOn?: number | undefined;
  /** The options with which it was added. */
  readonly opts: {
    /** How many attempts it has. Default 1. */
    readonly attempts?: number;
    /** How long it waited before it was due, in ms. */
    readonly delay?: number;
  };
  /** Puts it off until a time, in ms since 1970, without spending an attempt. */
  moveToDelayed(timestamp: number, token?: string): Promise<unknown>;
  /** Replaces `progress`. */
  updateProgress(progress: JobProgress): Promise<unknown>;
}

/** Throws an error that BullMQ does not retry for a job that `bullmqInbox` did not add. */
export function entryIn(job: EventJob): InboxEntry {
  const entry = decoded(job);
  if (!WebhookError.is(entry)) return entry;
  throw new UnrecoverableError(`not an event of bullmqInbox: ${entry.message}`);
}

export function decoded({ data }: EventJob): InboxEntry | WebhookError<string> {
  try {
    return decodeEntry(data);
  } catch (error) {
    if (WebhookError.is(error)) return error;
    throw error;
  }
}

export function isRateLimit(error: unknown): boolean {
  return readThrown(error, "message") === RATE_LIMIT_ERROR;
}

/** Whether BullMQ will not try the job again after this error. False if the job was cancelled: it is given back, or another worker has it. */
export function isFinal(
  error: unknown,
  { attemptsMade, opts }: EventJob,
  signal: AbortSignal | undefined,
): boolean {
  if (isInstance(error, UnrecoverableError) || readThrown(error, "name") === UnrecoverableError.name)
    return true;
  if (isRateLimit(error)) return false;
  return attemptsMade + 1 >= (opts.attempts ?? 1) && !signal?.aborted;
}
