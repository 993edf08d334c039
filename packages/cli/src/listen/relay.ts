import { setTimeout } from "node:timers/promises";
import type { WebhookDelivery } from "@esim-webhooks/client";
import type { Answer, NoAnswer } from "../send/post.ts";

/** The result of one attempt to post an event. */
export interface Posting {
  readonly delivery: WebhookDelivery;
  /** Undefined: the event cannot be posted, because the listing shows no body, or no id that can be sent. */
  readonly result: Answer | NoAnswer | undefined;
  /** The number of the attempt; the first is 1. */
  readonly attempt: number;
  readonly state: "accepted" | "retrying" | "given_up";
  /** How long until the next attempt. */
  readonly retryInMs?: number;
}

export interface RelayOptions {
  /** Posts an event. Undefined: it cannot be posted. */
  readonly post: (delivery: WebhookDelivery) => Promise<Answer | NoAnswer | undefined>;
  /** Gets every attempt, except those at which nothing listened. */
  readonly onPosting: (posting: Posting) => void;
  /** Gets each change of whether something listens at the receiver's address. */
  readonly onReceiver: (isUp: boolean, cause?: unknown) => void;
  /** The pause after each failed attempt, in ms. When the attempt after the last pause fails, the event is given up. */
  readonly pausesMs?: readonly number[];
  /** How long until the next try if nothing listens, in ms. */
  readonly lookEveryMs?: number;
}

/** The results so far. Each event that was added is in one of these, except while it is being posted. */
export interface RelayCounts {
  readonly accepted: number;
  readonly givenUp: number;
  /** Not posted yet, or not accepted yet. */
  readonly waiting: readonly WebhookDelivery[];
}

/** Posts events one at a time, in the order in which they are added. A failed one is tried again later. */
export interface Relay {
  add(deliveries: readonly WebhookDelivery[]): void;
  /** Resolves once the signal aborts and the attempt that is under way has ended. */
  run(signal: AbortSignal): Promise<void>;
  counts(): RelayCounts;
}

interface Waiting {
  readonly delivery: WebhookDelivery;
  readonly attempts: number;
  readonly dueAt: number;
}

const defaultPausesMs = [1000, 3000, 10_000];
const longestTimerMs = 2 ** 31 - 1;

export function createRelay({
  post,
  onPosting,
  onReceiver,
  pausesMs = defaultPausesMs,
  lookEveryMs = 1000,
}: RelayOptions): Relay {
  const waiting: Waiting[] = [];
  let accepted = 0;
  let givenUp = 0;
  let isUp = true;
  let added = new AbortController();

  async function untilDue(signal: AbortSignal): Promise<void> {
    added = new AbortController();
    const dueAt = Math.min(...waiting.map((each) => each.dueAt));
    await sleep(Math.min(dueAt - performance.now(), longestTimerMs), signal, added.signal);
  }

  async function attempt(next: Waiting, signal: AbortSignal): Promise<void> {
    const { delivery } = next;
    const result = await post(delivery);
    const isConnected = result === undefined || "status" in result || result.reason !== "unconnected";
    if (result !== undefined && isConnected !== isUp) {
      isUp = isConnected;
      onReceiver(isUp, "cause" in result ? result.cause : undefined);
    }
    if (!isConnected) {
      waiting.unshift(next); // not an attempt: the receiver was unreachable
      await sleep(lookEveryMs, signal);
      return;
    }
    const attempts = next.attempts + 1;
    const retryInMs = result === undefined ? undefined : pausesMs[attempts - 1];
    if (result !== undefined && isAccepted(result)) {
      accepted += 1;
      onPosting({ delivery, result, attempt: attempts, state: "accepted" });
    } else if (retryInMs === undefined) {
      givenUp += 1;
      onPosting({ delivery, result, attempt: attempts, state: "given_up" });
    } else {
      waiting.push({ delivery, attempts, dueAt: performance.now() + retryInMs });
      onPosting({ delivery, result, attempt: attempts, state: "retrying", retryInMs });
    }
  }

  return {
    add(deliveries) {
      for (const delivery of deliveries) waiting.push({ delivery, attempts: 0, dueAt: 0 });
      added.abort();
    },
    async run(signal) {
      while (!signal.aborted) {
        const index = waiting.findIndex(({ dueAt }) => dueAt <= performance.now());
        const [next] = index === -1 ? [] : waiting.splice(index, 1);
        await (next === undefined ? untilDue(signal) : attempt(next, signal));
      }
    },
    counts: () => ({ accepted, givenUp, waiting: waiting.map(({ delivery }) => delivery) }),
  };
}

/** Whether the answer is a 2xx. */
export function isAccepted(result: Answer | NoAnswer): boolean {
  return "status" in result && result.status >= 200 && result.status < 300;
}

/** Resolves after `ms`, immediately if that is negative, or as soon as one of the signals aborts. */
export async function sleep(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  await setTimeout(Math.max(0, ms), undefined, { signal: AbortSignal.any([...signals]) }).catch(() => {});
}
