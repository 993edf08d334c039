import type { EventKey, InboxRow, StoredEvent } from "@esim-webhooks/core";
import { decodeEntry, framesOf, stackText } from "@esim-webhooks/core/kit";
import type { BullmqJob } from "../redis/queue.ts";
import type { BullmqState } from "./filter.ts";

/** The event of a job. Undefined for a job that the inbox did not add. */
export function eventOf(job: BullmqJob, state: BullmqState): StoredEvent | undefined {
  try {
    const { source, id, type, receivedAt, body, replay } = decodeEntry(job.data);
    const { timestamp, attemptsStarted, failedReason, opts } = job;
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
  };
}

/** BullMQ may keep a stack of an earlier attempt: a job that stalled has no stack of its own. */
function stackOf({ failedReason, stacktrace }: BullmqJob): string | null {
  const stack = stacktrace?.at(-1);
  if (!failedReason || !stack?.includes(failedReason)) return null;
  return stackText(framesOf({ message: failedReason, stack }));
}

export function withoutBody({ body: _, stack: __, ...row }: StoredEvent): InboxRow {
  return row;
}
