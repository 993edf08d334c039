import { setTimeout as pause } from "node:timers/promises";
import type { Awaitable } from "../base/awaitable.ts";
import type { Logger } from "../base/logger.ts";
import { outcomeOf } from "../base/trace.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import { type SettleMessage, settleNotice } from "../handle/settle-notice.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import type { HeldClaim, Lease } from "./claim-lease.ts";

/** How a claim ends: what became of the event is written down. */
export interface Settler {
  /** For an event that was done. A store that is away is asked again while nobody else can have the claim. */
  complete(held: HeldClaim, outcome: EventOutcome, lease: Lease): Promise<EventOutcome>;
  /** For an event that was not. A store that is away leaves the claim to end with its lease. */
  release(held: HeldClaim, outcome: EventOutcome): Promise<EventOutcome>;
  /** For an event that was done with its transaction. */
  committed(held: HeldClaim, outcome: EventOutcome): EventOutcome;
  /** For an event whose claim went to another owner. */
  lost(held: HeldClaim): EventOutcome;
}

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

const firstPauseMs = 50;
const longestPauseMs = 1000;

export function createSettler(store: DedupeStore, logger: Logger): Settler {
  function committed(held: HeldClaim, outcome: EventOutcome): EventOutcome {
    tell(held, { outcome: "done" });
    return outcome;
  }

  function lost(held: HeldClaim): EventOutcome {
    tell(held, { outcome: "lost" });
    return { code: "lease_lost" };
  }

  return {
    committed,
    lost,
    async complete(held, outcome, lease) {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        const completed = await asked(() => store.complete(held.key, held.token));
        if (!("error" in completed)) return completed.answer ? committed(held, outcome) : lost(held);
        if (lease.remainingMs() <= pauseMs) {
          tell(held, outcomeOf(completed));
          return completed;
        }
        await pause(pauseMs);
      }
    },
    async release(held, outcome) {
      const released = await asked(() => store.release(held.key, held.token));
      if ("error" in released) {
        logger.debug({ id: held.key.id }, "A claim was not released; it ends with its lease.");
        tell(held, outcomeOf(released));
      } else tell(held, { outcome: released.answer ? "retry" : "lost" });
      return outcome;
    },
  };
}

function tell(
  { key, type, attempt, askedAt }: HeldClaim,
  ending: Pick<SettleMessage, "outcome" | "error">,
): void {
  if (!settleNotice.hasSubscribers) return;
  const { source, id } = key;
  settleNotice.publish({ source, id, type, attempt, ...ending, durationMs: performance.now() - askedAt });
}

/** What the store answers, or that it did not: at once where the store answers at once. */
export function asked<T>(ask: () => Awaitable<T>): Awaitable<{ readonly answer: T } | StoreUnavailable> {
  try {
    const answer = ask();
    return isPromise(answer) ? answer.then((given) => ({ answer: given }), unavailable) : { answer };
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
