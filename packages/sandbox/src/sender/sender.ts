import { sandboxClosed } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import type { DeliveryFault } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import type { Answer } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { withNewField, withNewReason } from "./faulted-body.ts";
import { createHttpClient } from "./http-client.ts";
import {
  changeBody,
  type DueEndpoint,
  dueAttempts,
  dueEndpoints,
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
import { forgetSlice } from "./retention.ts";
import { attemptSender } from "./send-attempt.ts";
import { createSentRequests, type SentRequest } from "./sent-requests.ts";

/** Sends what is due, and again what fails. */
export interface Sender {
  /** Resolves when everything that is due now was answered, or has hung. What comes later is not waited for. Rejects with `closed`. */
  settle(): Promise<void>;
  /**
   * For events that come before the answer of the call that caused them. Call it before the operation, and what it returns
   * after: that resolves when the first attempts of all deliveries made in between were answered, or have failed. Rejects with `closed`.
   */
  watchNewDeliveries(): () => Promise<void>;
  /** What was sent with the delivery's latest attempt; undefined when there was none, and of attempts that were too long ago. */
  requestOf(sequence: number): SentRequest | undefined;
  /** When the next attempt will be due, in ms of the service's clock; undefined when none will be. What is due now does not count. */
  nextDueAt(): number | undefined;
  /** Starts no more attempts, and ends those under way: their deliveries are sent again at the next start. Who waits is told `closed`. */
  close(): Promise<void>;
}

interface Begun {
  readonly attempt: Attempt;
  readonly fault: DeliveryFault | undefined;
}

interface Waiter {
  isOver(): boolean;
  resolve(): void;
  reject(error: Error): void;
}

/** How many requests an endpoint has at once. One that hangs holds up nobody but itself. */
const concurrency = 64;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Sends from now on: first what an earlier process has left unanswered. Sets `service.onDue`.
 * Everything that a turn of the event loop brings, answers and new deliveries, is written in one transaction.
 */
export function createSender(service: Service, faults: Faults): Sender {
  const { db, clock } = service;
  const client = createHttpClient();
  const sent = createSentRequests();
  const send = attemptSender(service, client, sent);
  const answers: { attempt: Attempt; answer: Answer }[] = [];
  /** By endpoint. */
  const inFlight = new Map<number, Set<Attempt>>();
  let waiters: Waiter[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isScheduled = false;
  let isClosed = false;

  function schedule(): void {
    if (isScheduled || isClosed) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function turn(): void {
    isScheduled = false;
    if (isClosed) return;
    const now = clock.now(); // one for the whole turn, so that what falls due meanwhile is left to the timer
    const begun = db.transaction(() => {
      for (const { attempt, answer } of answers.splice(0)) settle(attempt, answer);
      if (forgetSlice(service)) schedule();
      return dueEndpoints(service, now).flatMap((endpoint) => begin(endpoint, now));
    });
    for (const one of begun) void run(one);
    wakeAfter(now);
    const over = waiters.filter((waiter) => waiter.isOver());
    waiters = waiters.filter((waiter) => !over.includes(waiter));
    for (const waiter of over) waiter.resolve();
  }

  function settle(attempt: Attempt, answer: Answer): void {
    const attempts = inFlight.get(attempt.endpointSequence);
    attempts?.delete(attempt);
    if (attempts?.size === 0) inFlight.delete(attempt.endpointSequence);
    settleAttempt(service, attempt, answer);
    overtake(service, attempt);
  }

  function begin(endpoint: DueEndpoint, now: number): Begun[] {
    const attempts = inFlight.get(endpoint.sequence) ?? new Set();
    const begun = dueAttempts(service, endpoint, now, concurrency - attempts.size).flatMap((attempt) => {
      const fault = attempt.held ? undefined : faultOf(attempt);
      if (fault?.kind === "reorder") {
        hold(service, attempt, fault.waitMs);
        schedule(); // for those behind it
        return [];
      }
      const body = bodyOf(attempt, fault);
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
    answers.push({ attempt, answer: await send(attempt, fault) });
    schedule();
  }

  /** What was due at `now` needs no timer: it has begun, or waits for an answer to free its place. */
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
    requestOf: (sequence) => sent.of(sequence),
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

function bodyOf({ body }: Attempt, fault: DeliveryFault | undefined): string {
  if (fault?.kind === "new_field") return withNewField(body);
  return fault?.kind === "new_reason" ? withNewReason(body) : body;
}
