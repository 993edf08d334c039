import { randomUUID } from "node:crypto";
import { createWorker, type Inbox, type InboxEntry, type Logger } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

/** How long one step may take, and what else ends it. */
export interface StepLimits {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** The figures of one step. */
export interface Figures {
  readonly events: number;
  /** How long the step took. */
  readonly seconds: number;
  readonly perSecond: number;
  /** How many events were stored or handled at the same time, at most. */
  readonly concurrency: number;
}

/** The figures of the step that stores, with percentiles of the time that a `put` took. */
export interface StoredFigures extends Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const putsAtOnce = 100; // as many deliveries as a busy receiver has under way
const handledAtOnce = 20; // the default of a worker

/** Stores events as a receiver does: one in each put, several puts under way. Ends at the limits, or after `most` events. */
export async function measurePuts(
  inbox: Pick<Inbox, "put">,
  most: number,
  { seconds, signal }: StepLimits,
): Promise<StoredFigures> {
  const times: number[] = [];
  const errors: unknown[] = [];
  const end = AbortSignal.any([signal, AbortSignal.timeout(Math.round(seconds * 1000))]);
  let left = most;
  const putNext = async () => {
    while (left-- > 0 && !end.aborted && errors.length === 0) {
      const begin = performance.now();
      try {
        await inbox.put([newEntry()]);
        times.push(performance.now() - begin);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: putsAtOnce }, putNext));
  const taken = secondsSince(begin);
  if (errors.length > 0) throw errors[0];
  const sorted = times.toSorted((a, b) => a - b);
  const percentile = (part: number) => hundredths(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
  return {
    ...figuresOf(sorted.length, taken, putsAtOnce),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
  };
}

/** Has a worker handle the stored events, with a handler that does nothing. Ends after `waiting` events, or at the limits. */
export async function measureWorker(
  inbox: Inbox,
  waiting: number,
  { seconds, signal }: StepLimits,
  logger: Logger,
): Promise<Figures> {
  const doneBefore = await inbox.count({ state: "done" });
  const handled = new AbortController();
  const end = AbortSignal.any([signal, handled.signal, AbortSignal.timeout(Math.round(seconds * 1000))]);
  let left = waiting;
  const handler = () => {
    left -= 1;
    if (left === 0) handled.abort();
  };
  const worker = createWorker<unknown>(inbox, { "*": handler }, { concurrency: handledAtOnce, logger });
  const begin = performance.now();
  await worker.run({ signal: end });
  const taken = secondsSince(begin);
  const done = await inbox.count({ state: "done" }); // rejects if the database has failed, where a worker only tries again
  return figuresOf(done - doneBefore, taken, handledAtOnce);
}

function secondsSince(begin: number): number {
  return (performance.now() - begin) / 1000;
}

function figuresOf(events: number, seconds: number, concurrency: number): Figures {
  return { events, seconds: hundredths(seconds), perSecond: Math.round(events / seconds), concurrency };
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

function newEntry(): InboxEntry {
  const [type, id, receivedAt] = ["esim.enabled", `msg_${randomUUID()}`, new Date()] as const;
  const timestamp = receivedAt.toISOString();
  const data = { ...sampleData(type), esimReference: id };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source: "default", id, type, event: { id, type, timestamp, data }, body, receivedAt };
}
