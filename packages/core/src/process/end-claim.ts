import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../base/logger.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import type { HeldClaim, Lease } from "./claim-lease.ts";

/** How a claim ends: what became of the event is written down. */
export interface Settler {
  /** For an event that was done. A store that is away is asked again while nobody else can have the claim. */
  complete(held: HeldClaim, outcome: EventOutcome, lease: Lease): Promise<EventOutcome>;
  /** For an event that was not. A store that is away leaves the claim to end with its lease. */
  release(held: HeldClaim, outcome: EventOutcome): Promise<EventOutcome>;
}

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

const firstPauseMs = 50;
const longestPauseMs = 1000;

export function createSettler(store: DedupeStore, logger: Logger): Settler {
  return {
    async complete({ key, token }, outcome, lease) {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        const completed = await asked(() => store.complete(key, token));
        if (!("error" in completed)) return completed.answer ? outcome : { code: "lease_lost" };
        if (lease.remainingMs() <= pauseMs) return completed;
        await pause(pauseMs);
      }
    },
    async release({ key, token }, outcome) {
      const released = await asked(() => store.release(key, token));
      if ("error" in released)
        logger.debug({ id: key.id }, "A claim was not released; it ends with its lease.");
      return outcome;
    },
  };
}

/** What the store answers, or that it did not. */
export async function asked<T>(ask: () => Promise<T>): Promise<{ readonly answer: T } | StoreUnavailable> {
  try {
    return { answer: await ask() };
  } catch (error) {
    return { code: "store_unavailable", error };
  }
}
