import { setTimeout as pause } from "node:timers/promises";
import type { Awaitable } from "../base/awaitable.ts";
import type { Logger } from "../base/logger.ts";
import { outcomeFields } from "../base/trace.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import type { HeldClaim, Lease } from "./claim-lease.ts";

/** Ends a claim in the store, according to the outcome of its event. */
export interface Settler {
  /** For a done event. While the store is unreachable, tries again until somebody else could have the claim. */
  complete(held: HeldClaim, outcome: EventOutcome, lease: Lease): Promise<EventOutcome>;
  /** For an event that is not done. If the store is unreachable, the claim ends with its lease. */
  release(held: HeldClaim, outcome: EventOutcome): Promise<EventOutcome>;
  /** For an event that was committed together with its done mark. */
  committed(held: HeldClaim, outcome: EventOutcome): EventOutcome;
  /** For an event whose claim was lost. */
  lost(held: HeldClaim): EventOutcome;
}

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

const firstPauseMs = 50;
const longestPauseMs = 1000;

export function createSettler(store: DedupeStore, logger: Logger): Settler {
  function committed(held: HeldClaim, outcome: EventOutcome): EventOutcome {
    publish(held, { outcome: "done" });
    return outcome;
  }

  function lost(held: HeldClaim): EventOutcome {
    publish(held, { outcome: "lost" });
    return { code: "lease_lost" };
  }

  return {
    committed,
    lost,
    async complete(held, outcome, lease) {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        const completed = await callStore(() => store.complete(held.key, held.token));
        if (!("error" in completed)) return completed.answer ? committed(held, outcome) : lost(held);
        if (lease.remainingMs() <= pauseMs) {
          publish(held, outcomeFields(completed));
          return completed;
        }
        await pause(pauseMs);
      }
    },
    async release(held, outcome) {
      const released = await callStore(() => store.release(held.key, held.token));
      if ("error" in released) {
        logger.debug({ id: held.key.id }, "A claim could not be released; it ends with its lease.");
        publish(held, outcomeFields(released));
      } else publish(held, { outcome: released.answer ? "retry" : "lost" });
      return outcome;
    },
  };
}

function publish(
  { key, type, attempt, askedAt }: HeldClaim,
  ending: Pick<SettleMessage, "outcome" | "error">,
): void {
  if (!settleNotice.hasSubscribers) return;
  const { source, id } = key;
  settleNotice.publish({ source, id, type, attempt, ...ending, durationMs: performance.now() - askedAt });
}

/** Calls the store and returns its answer, or `store_unavailable` when it fails. Synchronous if the store is. */
export function callStore<T>(call: () => Awaitable<T>): Awaitable<{ readonly answer: T } | StoreUnavailable> {
  try {
    const answer = call();
    return isPromise(answer) ? answer.then((value) => ({ answer: value }), unavailable) : { answer };
  } catch (error) {
    return unavailable(error);
  }
}

function isPromise<T>(answer: Awaitable<T>): answer is Promise<T> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === "function";
}

function unavailable(error: unknown): StoreUnavailable {
  return { code: "store_unavailable", error };
}
