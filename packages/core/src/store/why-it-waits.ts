import { instant, span } from "../base/time-text.ts";
import type { WorkerPresence } from "./inbox-figures.ts";
import type { Pause } from "./pause.ts";
import type { LaneHolder, StoredEvent } from "./stored-event.ts";

/** The facts, besides the event itself, that can explain why it waits. */
export interface Circumstances {
  /** The present time, in ms since the Unix epoch. */
  readonly now: number;
  /** The pauses of the inbox. */
  readonly pauses: readonly Pause[];
  /** The workers of the inbox that have reported. */
  readonly workers: readonly WorkerPresence[];
}

/** The part of an event that `whyItWaits` reads. */
export type WaitingEvent = Pick<
  StoredEvent,
  "state" | "type" | "attempts" | "dueAt" | "leasedUntil" | "error" | "history" | "heldBy"
>;

/** Says in one sentence why a ready event waits, or what is known of the worker of a leased one. Null for other states. */
export function whyItWaits(event: WaitingEvent, circumstances: Circumstances): string | null {
  if (event.state === "leased") return leased(event, circumstances);
  if (event.state !== "ready") return null;
  const { now, pauses, workers } = circumstances;
  const pause = pauses.find(({ type }) => type === null || type === event.type);
  const dueMs = event.dueAt?.getTime() ?? now;
  if (pause !== undefined) return paused(pause, now);
  if (dueMs > now) return dueLater(event, dueMs, now);
  if (event.heldBy !== null) return laneHeld(event.heldBy);
  if (event.dueAt === null && event.error !== null)
    return "Its last attempt failed, and the next one follows after a pause; the inbox does not say when.";
  if (workers.length === 0) return "It is due, but no worker has reported in the last 30 s: start one.";
  return dueNow(event, workers, dueMs, now);
}

function leased({ attempts, leasedUntil }: WaitingEvent, { now, workers }: Circumstances): string {
  const endMs = leasedUntil?.getTime() ?? Number.POSITIVE_INFINITY;
  if (endMs > now) {
    const until = Number.isFinite(endMs)
      ? `; it may keep it until ${instant(new Date(endMs))} without a sign of life`
      : "";
    return `A worker is handling it, attempt ${attempts}${until}.`;
  }
  const next = workers.length === 0 ? "once a worker runs" : "soon";
  return `The worker that had it stopped reporting, and its lease ended at ${instant(new Date(endMs))}: another one takes it ${next}.`;
}

function paused({ type, reason, since, until, by }: Pause, now: number): string {
  const end = until === null ? "until it is resumed" : `until ${at(until.getTime(), now)}`;
  const what = type === null ? "All types are" : "Its type is";
  const who = by === null ? "" : ` by ${by}`;
  return `${what} paused${who} since ${instant(since)}, ${end}: ${reason}`;
}

function dueLater({ error, history }: WaitingEvent, dueMs: number, now: number): string {
  const due = at(dueMs, now);
  if (error === null || history.at(-1)?.reason === "retry_later")
    return `Its handler asked for a later attempt, which is due at ${due}.`;
  return `Its last attempt failed, and the next one is due at ${due}.`;
}

const stuckAfterMs = 60_000; // a worker polls far more often, and reports every ten seconds

function dueNow(
  { history, error }: WaitingEvent,
  workers: readonly WorkerPresence[],
  dueMs: number,
  now: number,
): string {
  if (error !== null && history.at(-1)?.reason === "lease_ended")
    return "Its last worker ended while handling it, so the next one handles it alone, as soon as it has no other event.";
  const slots = sum(workers.map(({ concurrency }) => concurrency));
  const running = sum(workers.map(({ running }) => running));
  if (slots !== null && running !== null && running >= slots)
    return `It is due, but all ${slots} slots of ${workers.length === 1 ? "the worker" : `the ${workers.length} workers`} are in use.`;
  const lastTakes = workers.map(({ lastTakeAt }) => lastTakeAt?.getTime() ?? null);
  const lastMs = lastTakes.includes(null) ? null : Math.max(...lastTakes.map(Number));
  if (lastMs !== null && now - lastMs >= stuckAfterMs)
    return `It is due, but no worker has asked for events since ${instant(new Date(lastMs))}: read the workers' logs.`;
  return `It has been due for ${span(now - dueMs)}: workers first take the events that have been due longer.`;
}

function laneHeld({ id, state }: LaneHolder): string {
  if (state === "leased") return `Its lane is held by the event ${id}, which a worker is handling.`;
  if (state === "dead")
    return `Its lane is held by the event ${id}, which is dead: retry or delete that one.`;
  return `Its lane is held by the event ${id}, which occurred before it and waits too.`;
}

function at(ms: number, now: number): string {
  return `${instant(new Date(ms))}, in ${span(ms - now + 999)}`;
}

/** The sum. Null if one of the numbers is not known. */
function sum(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce<number | null>(
    (total, each) => (total === null || each === null ? null : total + each),
    0,
  );
}
