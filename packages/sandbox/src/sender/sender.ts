import type { Service } from "../base/service.ts";
import type { DeliveryFault } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import type { Answer } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { withNewField, withNewReason } from "./faulted-body.ts";
import { heldDeliveries } from "./held-deliveries.ts";
import { createHttpClient } from "./http-client.ts";
import {
  changeBody,
  type DueEndpoint,
  dueAttempts,
  dueEndpoints,
  markSending,
  newestDelivery,
  nextDueAt,
  recover,
  settleAttempt,
  someAreNew,
} from "./queue.ts";
import { forgetSlice } from "./retention.ts";
import { attemptSender } from "./send-attempt.ts";

/** Sends what is due, and again what fails. */
export interface Sender {
  /** Resolves when everything that is due now was answered, or has hung. */
  settle(): Promise<void>;
  /**
   * For events that come before the answer of the call that caused them. Call it before the operation, and what it returns
   * after: that resolves when the first attempts of all deliveries made in between were answered, or have failed.
   */
  watchNewDeliveries(): () => Promise<void>;
  /** When the next attempt is due, in ms of the service's clock; undefined when none is. */
  nextDueAt(): number | undefined;
  /** Starts no more attempts, and ends those under way: their deliveries are sent again at the next start. */
  close(): Promise<void>;
}

export interface SenderOptions {
  /** How long an endpoint may take to answer, in real ms. Default 30,000; on a manual clock 1,000: then the request hangs. */
  readonly answerLimitMs?: number;
}

interface Begun {
  readonly attempt: Attempt;
  readonly fault: DeliveryFault | undefined;
}

interface Waiter {
  isOver(): boolean;
  resolve(): void;
}

/** How many requests an endpoint has at once. One that hangs holds up nobody but itself. */
const concurrency = 64;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Sends from now on: first what an earlier process has left unanswered. Sets `service.onDue`.
 * Everything that a turn of the event loop brings, answers and new deliveries, is written in one transaction.
 */
export function createSender(service: Service, faults: Faults, options: SenderOptions = {}): Sender {
  const { db, clock } = service;
  const { answerLimitMs = "moveTo" in clock ? 1000 : 30_000 } = options;
  const client = createHttpClient(answerLimitMs);
  const send = attemptSender(service, client);
  const answers: { attempt: Attempt; answer: Answer }[] = [];
  /** By endpoint, how many requests it has. */
  const inFlight = new Map<number, number>();
  const held = heldDeliveries(service);
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
    const begun = db.transaction(() => {
      for (const { attempt, answer } of answers.splice(0)) settle(attempt, answer);
      if (forgetSlice(service)) schedule();
      return dueEndpoints(service).flatMap(begin);
    });
    for (const one of begun) void run(one);
    waitForNextDue();
    const over = waiters.filter((waiter) => waiter.isOver());
    waiters = waiters.filter((waiter) => !over.includes(waiter));
    for (const waiter of over) waiter.resolve();
  }

  function settle(attempt: Attempt, answer: Answer): void {
    const { endpointSequence } = attempt;
    const left = (inFlight.get(endpointSequence) ?? 1) - 1;
    if (left === 0) inFlight.delete(endpointSequence);
    else inFlight.set(endpointSequence, left);
    settleAttempt(service, attempt, answer);
    held.overtake(attempt);
  }

  function begin(endpoint: DueEndpoint): Begun[] {
    const free = concurrency - (inFlight.get(endpoint.sequence) ?? 0);
    const begun = dueAttempts(service, endpoint, free).flatMap((attempt) => {
      const fault = held.release(attempt) ? undefined : faultOf(attempt);
      if (fault?.kind === "reorder") {
        held.hold(attempt, fault.waitMs);
        schedule(); // for those behind it
        return [];
      }
      const body = bodyOf(attempt, fault);
      if (body !== attempt.body) changeBody(service, attempt.sequence, body);
      markSending(service, attempt);
      return [{ attempt: { ...attempt, body }, fault }];
    });
    if (begun.length > 0) inFlight.set(endpoint.sequence, concurrency - free + begun.length);
    return begun;
  }

  function faultOf({ eventType, sequence, number }: Attempt): DeliveryFault | undefined {
    return faults.onDelivery({ eventType, sequence, attempt: number });
  }

  async function run({ attempt, fault }: Begun): Promise<void> {
    answers.push({ attempt, answer: await send(attempt, fault) });
    schedule();
  }

  function waitForNextDue(): void {
    clearTimeout(timer);
    const due = nextDueAt(service);
    const inMs = due === undefined ? undefined : clock.realMsUntil(due);
    if (inMs !== undefined && inMs > 0) timer = setTimeout(schedule, Math.min(inMs, longestTimerMs));
  }

  function until(isOver: () => boolean): Promise<void> {
    if (isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      waiters.push({ isOver, resolve });
      schedule();
    });
  }

  recover(service);
  service.onDue = schedule;
  schedule();
  return {
    settle: () => until(() => inFlight.size === 0 && !isScheduled),
    watchNewDeliveries() {
      const first = newestDelivery(service);
      return () => {
        const last = newestDelivery(service);
        return until(() => !someAreNew(service, first, last));
      };
    },
    nextDueAt: () => nextDueAt(service),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      service.onDue = () => {};
      for (const waiter of waiters.splice(0)) waiter.resolve();
      await client.close();
    },
  };
}

function bodyOf({ body }: Attempt, fault: DeliveryFault | undefined): string {
  if (fault?.kind === "new_field") return withNewField(body);
  return fault?.kind === "new_reason" ? withNewReason(body) : body;
}
