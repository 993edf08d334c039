import type { EventKey, FailedAttempt, InboxEntry, InboxRow, StoredEvent } from "@esim-webhooks/core";
import {
  decodeEntry,
  frameStart,
  framesOf,
  maskPersonalData,
  stackText,
  subjectOf,
} from "@esim-webhooks/core/kit";
import type { BullmqJob } from "../redis/queue.ts";
import type { BullmqState } from "./filter.ts";

/** The event of a job. Undefined for a job that the inbox did not add. */
export function eventOf(job: BullmqJob, state: BullmqState): StoredEvent | undefined {
  try {
    const { source, id, type, receivedAt, body, replay, key = null, trace = null } = decodeEntry(job.data);
    const { timestamp, attemptsStarted, failedReason, opts, processedOn, finishedOn } = job;
    const { ttl } = opts.deduplication ?? {};
    return {
      source,
      id,
      state,
      type,
      lane: null,
      receivedAt,
      attempts: attemptsStarted,
      endsAt: state === "done" && ttl !== undefined ? new Date(timestamp + ttl) : null,
      error: state === "done" ? null : (failedReason ?? null), // BullMQ keeps that of an earlier attempt
      stack: state === "done" ? null : stackOf(job),
      conflicts: 0, // BullMQ keeps no count
      replay: replay ?? null,
      body,
      subject: subjectIn(body),
      key,
      trace,
      takenAt: dateOf(processedOn),
      settledAt: state === "done" || state === "dead" ? dateOf(finishedOn) : null,
      history: historyOf(job),
    };
  } catch {
    return undefined;
  }
}

/** An event whose id is remembered, and whose job has left the queue: done. */
export function goneEvent({ source, id }: EventKey): StoredEvent {
  return {
    source,
    id,
    state: "done",
    type: null,
    lane: null,
    receivedAt: null,
    attempts: 0,
    endsAt: null,
    error: null,
    stack: null,
    conflicts: 0,
    replay: null,
    body: null,
    subject: null,
    key: null,
    trace: null,
    takenAt: null,
    settledAt: null,
    history: [],
  };
}

/** BullMQ may keep a stack of an earlier attempt: a job that stalled has no stack of its own. */
function stackOf({ failedReason, stacktrace }: BullmqJob): string | null {
  const stack = stacktrace?.at(-1);
  if (!failedReason || !stack?.includes(failedReason)) return null;
  return stackText(framesOf({ message: failedReason, stack }));
}

/** How many failed attempts a job keeps. */
export const mostStacks = 10;

const mostErrorCharacters = 500;

/** BullMQ keeps the stacks of failed attempts, and nothing else of them. */
function historyOf({ stacktrace }: BullmqJob): readonly FailedAttempt[] {
  return (stacktrace ?? []).slice(-mostStacks).map((stack) => ({
    endedAt: null,
    reason: "failed",
    durationMs: null,
    error: maskPersonalData(stack.split(frameStart)[0] ?? "").slice(0, mostErrorCharacters) || null,
    worker: null,
  }));
}

/** The event is in the body, from where its subject is read: a job is not searched by it. */
function subjectIn(body: Uint8Array): string | null {
  try {
    return subjectOf({ event: JSON.parse(Buffer.from(body).toString()) as InboxEntry["event"] });
  } catch {
    return null;
  }
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}

export function withoutBody(event: StoredEvent): InboxRow {
  const { source, id, state, type, lane, receivedAt, attempts, endsAt, error, conflicts, replay } = event;
  return { source, id, state, type, lane, receivedAt, attempts, endsAt, error, conflicts, replay };
}
