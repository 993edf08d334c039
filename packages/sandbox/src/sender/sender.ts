import type { DeliveryFault } from "../base/fault.ts";
import type { Faults } from "../base/faults.ts";
import { sandboxClosed } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { esimReferenceOf } from "../webhook/deliveries.ts";
import type { Answer, Attempt } from "./attempt.ts";
import { faultedBody } from "./faulted-body.ts";
import { createHttpClient } from "./http-client.ts";
import {
  changeBody,
  type DueEndpoint,
  dueAttempts,
  dueEndpoints,
  forgetSlice,
  hold,
  markSending,
  newestDelivery,
  nextDueAt,
  overtake,
  recover,
  settleAttempt,
  someAreDue,
  someAreNew,
} from "./queue.ts";
import { attemptSender } from "./send-attempt.ts";
import { createSentRequests, type EndedAttempt, type SentDelivery } from "./sent-requests.ts";

/** Sends the deliveries that are due, and retries those that fail. */
export interface Sender {
  /** Resolves when all attempts that are due now have ended, with an answer or an error. Does not wait for later ones. Rejects with `closed`. */
  settle(): Promise<void>;
  /**
   * For events that come before the answer of the call that caused them. Call it before the operation, and the function that it returns
   * after the operation: that one resolves when the first attempts of all deliveries made in between were answered, or have failed. Rejects
   * with `closed`.
   */
  watchNewDeliveries(): () => Promise<void>;
  /** Returns the latest request of a delivery; undefined if there was none, or it is no longer in memory. */
  sentOf(sequence: number): SentDelivery | undefined;
  /** When the next attempt will be due, in ms of the service's clock; undefined when none will be. What is due now does not count. */
  nextDueAt(): number | undefined;
  /** Starts no more attempts, and ends those under way: their deliveries are sent again at the next start. Pending waiters reject with `closed`. */
  close(): Promise<void>;
}

interface Begun {
  readonly attempt: Attempt;
  readonly fault: DeliveryFault | undefined;
}

/** An attempt of a delivery, and the status that it gives the delivery. */
export interface DeliveryAttempt extends EndedAttempt {
  /** The type of the event. */
  readonly eventType: string;
  /** The `webhook-id`. */
  readonly eventId: string;
  /** The eSIM that the event is about. Null: it has none. */
  readonly esimReference: string | null;
  /** The URL of the endpoint. */
  readonly url: string;
  /** The first 4 KiB of the answer's body. */
  readonly responseBody: string | null;
  /** The status in the listing. `failed`: it is tried again if `retryInMs` is not null. `exhausted`: it is not. */
  readonly status: "delivered" | "failed" | "exhausted";
  /** How long until the service tries again, in ms of its clock; null when it does not. */
  readonly retryInMs: number | null;
}

interface Ended {
  readonly attempt: Attempt;
  readonly answer: Answer;
  readonly sentAt: number;
  readonly durationMs: number;
}

interface Waiter {
  isOver(): boolean;
  resolve(): void;
  reject(error: Error): void;
}

/** How many concurrent attempts an endpoint gets: one that hangs does not delay the others. */
const concurrency = 64;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Starts to send, also the attempts that an earlier process has not finished. Sets `service.onDue`.
 * The ended and the new attempts of one event-loop tick are written in one transaction.
 */
export function createSender(
  service: Service,
  faults: Faults,
  onAttempt: (attempt: DeliveryAttempt) => void = () => {},
): Sender {
  const { db, clock } = service;
  const client = createHttpClient();
  const sent = createSentRequests();
  const send = attemptSender(service, client, sent);
  const ended: Ended[] = [];
  /** The attempts under way, by the number of their endpoint. */
  const inFlight = new Map<number, Set<Attempt>>();
  let waiters: Waiter[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isScheduled = false;
  let isClosed = false;

  function schedule(): void {
    if (isScheduled || isClosed) return;
    isScheduled = true;
    setImmediate(writeBatch);
  }

  function writeBatch(): void {
    isScheduled = false;
    if (isClosed) return;
    const now = clock.now(); // one time for the whole batch, so that what falls due meanwhile is left to the timer
    const made: DeliveryAttempt[] = [];
    const begun = db.transaction(() => {
      made.push(...ended.splice(0).map(settle));
      if (forgetSlice(service)) schedule();
      return dueEndpoints(service, now).flatMap((endpoint) => begin(endpoint, now));
    });
    for (const attempt of made) onAttempt(attempt);
    for (const one of begun) void run(one);
    wakeAfter(now);
    const over = waiters.filter((waiter) => waiter.isOver());
    waiters = waiters.filter((waiter) => !over.includes(waiter));
    for (const waiter of over) waiter.resolve();
  }

  function settle({ attempt, answer, sentAt, durationMs }: Ended): DeliveryAttempt {
    const attempts = inFlight.get(attempt.endpointSequence);
    attempts?.delete(attempt);
    if (attempts?.size === 0) inFlight.delete(attempt.endpointSequence);
    const settlement = settleAttempt(service, attempt, answer);
    overtake(service, attempt);
    const { number: attemptNumber, eventType, eventId, url } = attempt;
    const { httpStatus, responseBody, error } = answer;
    const made = { attemptNumber, sentAt: new Date(sentAt).toISOString(), durationMs, httpStatus, error };
    sent.end(attempt, made);
    return {
      ...made,
      eventType,
      eventId,
      esimReference: esimReferenceOf(JSON.parse(attempt.body)),
      url,
      responseBody,
      status: settlement.status,
      retryInMs: settlement.status === "failed" ? settlement.retryAfterMs : null,
    };
  }

  function begin(endpoint: DueEndpoint, now: number): Begun[] {
    const attempts = inFlight.get(endpoint.sequence) ?? new Set();
    const begun = dueAttempts(service, endpoint, now, concurrency - attempts.size).flatMap((attempt) => {
      const fault = attempt.held ? undefined : faultOf(attempt);
      if (fault?.kind === "reorder") {
        hold(service, attempt, fault.waitMs);
        schedule(); // for the deliveries behind it
        return [];
      }
      const body = faultedBody(attempt.body, fault);
      if (body !== attempt.body) changeBody(service, attempt.sequence, body);
      markSending(service, attempt);
      return [{ attempt: { ...attempt, body }, fault }];
    });
    for (const { attempt } of begun) attempts.add(attempt);
    if (attempts.size > 0) inFlight.set(endpoint.sequence, attempts);
    return begun;
  }

  function faultOf({ eventType, sequence, number }: Attempt): DeliveryFault | undefined {
    return faults.onDelivery({ eventType, sequence, attempt: number });
  }

  async function run({ attempt, fault }: Begun): Promise<void> {
    const sentAt = clock.now();
    const startedAt = performance.now();
    const answer = await send(attempt, fault);
    ended.push({ attempt, answer, sentAt, durationMs: Math.round(performance.now() - startedAt) });
    schedule();
  }

  /** Sets the timer for what is due after `now`: earlier attempts have begun, or wait for an answer to free a place. */
  function wakeAfter(now: number): void {
    clearTimeout(timer);
    const due = nextDueAt(service, now);
    const inMs = due === undefined ? undefined : clock.realMsUntil(due);
    if (inMs !== undefined) timer = setTimeout(schedule, Math.min(inMs, longestTimerMs));
  }

  function until(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      waiters.push({ isOver, resolve, reject });
      schedule();
    });
  }

  recover(service);
  service.onDue = schedule;
  schedule();
  return {
    async settle() {
      if (isClosed) throw sandboxClosed();
      const now = clock.now();
      const newest = newestDelivery(service);
      const wasDue = ({ sequence, dueAt }: Attempt) => sequence <= newest && dueAt <= now;
      await until(
        () =>
          ![...inFlight.values()].some((attempts) => [...attempts].some(wasDue)) &&
          !someAreDue(service, now, newest),
      );
    },
    watchNewDeliveries() {
      const first = newestDelivery(service);
      return async () => {
        if (isClosed) throw sandboxClosed();
        const last = newestDelivery(service);
        await until(() => !someAreNew(service, first, last));
      };
    },
    sentOf: (sequence) => sent.of(sequence),
    nextDueAt: () => nextDueAt(service, clock.now()),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      service.onDue = () => {};
      for (const waiter of waiters.splice(0)) waiter.reject(sandboxClosed());
      await client.close();
    },
  };
}
