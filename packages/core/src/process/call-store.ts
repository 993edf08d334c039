import type { Awaitable } from "../base/awaitable.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

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
