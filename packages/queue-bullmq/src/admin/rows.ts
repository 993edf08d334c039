import type { EventKey, InboxEntry, StoredEvent } from "@esim-webhooks/core";
import { decodeEntry, erasedError } from "@esim-webhooks/core/engine";
import { maskPersonalData } from "@esim-webhooks/core/masking";
import { type ErasedData, isErased } from "../redis/erased-data.ts";
import { type BullmqJob, startsOf } from "../redis/queue.ts";
import type { BullmqState } from "./filter.ts";
import { historyOf, stackOf } from "./history.ts";

/** Reads the subject of an entry from its body: BullMQ has no index of subjects. */
export type SubjectReader = (entry: InboxEntry) => string | null;

/** The event of a job. Undefined for a job that the inbox did not add. */
export function eventOf(
  job: BullmqJob,
  state: BullmqState,
  subjectOf: SubjectReader,
): StoredEvent | undefined {
  if (isErased(job.data)) return erasedEventOf(job, job.data, state);
  const entry = entryIn(job.data);
  if (entry === undefined) return undefined;
  const { source, id, type, receivedAt, body, replay = null, key = null, trace = null } = entry;
  const isDone = state === "done"; // BullMQ keeps the error of an earlier attempt
  return {
    source,
    id,
    type,
    receivedAt,
    ...stateOf(job, state),
    error: isDone || !job.failedReason ? null : maskPersonalData(job.failedReason),
    stack: isDone ? null : stackOf(job),
    replay,
    body,
    subject: subjectOf(entry),
    key,
    trace,
    heldBy: null,
    erasedAt: null,
    history: historyOf(job),
  };
}

function erasedEventOf(job: BullmqJob, data: ErasedData, state: BullmqState): StoredEvent {
  const { source, id, type, receivedAt, replay = null, key = null, erasedAt } = data;
  return {
    source,
    id,
    type,
    receivedAt: new Date(receivedAt),
    ...stateOf(job, state),
    error: erasedError,
    stack: null,
    replay,
    body: null,
    subject: null,
    key,
    trace: null,
    heldBy: null,
    erasedAt: new Date(erasedAt),
    history: [],
  };
}

type StateFields =
  | "state"
  | "lane"
  | "attempts"
  | "tries"
  | "dueAt"
  | "leasedUntil"
  | "keptUntil"
  | "conflicts"
  | "takenAt"
  | "settledAt";

/** The state of a job, as BullMQ knows it. */
function stateOf(job: BullmqJob, state: BullmqState): Pick<StoredEvent, StateFields> {
  const { timestamp, attemptsMade, opts, processedOn, finishedOn } = job;
  const { ttl } = opts.deduplication ?? {};
  return {
    state,
    lane: null,
    attempts: startsOf(job),
    tries: attemptsMade + (state === "leased" ? 1 : 0),
    dueAt: null,
    leasedUntil: null,
    keptUntil: state === "done" && ttl !== undefined ? new Date(timestamp + ttl) : null,
    conflicts: 0, // BullMQ keeps no count
    takenAt: dateOf(processedOn),
    settledAt: state === "done" || state === "dead" ? dateOf(finishedOn) : null,
  };
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
    tries: 0,
    dueAt: null,
    leasedUntil: null,
    keptUntil: null,
    error: null,
    stack: null,
    conflicts: 0,
    replay: null,
    body: null,
    subject: null,
    key: null,
    trace: null,
    heldBy: null,
    takenAt: null,
    settledAt: null,
    erasedAt: null,
    history: [],
  };
}

/** The entry in the data of a job. Undefined for data that the inbox did not write, or that was erased. */
export function entryIn(data: unknown): InboxEntry | undefined {
  try {
    return decodeEntry(data);
  } catch {
    return undefined;
  }
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}
