import type { Awaitable } from "../base/awaitable.ts";
import { tryThen, unref } from "../base/waiting.ts";
import type { EventKey } from "../event/event.ts";
import type { EventOutcome, UndoneOutcome } from "../handle/event-outcome.ts";
import type { ContextFacts, LoopWatch } from "../handle/run-handler.ts";
import { advance, type Lease } from "../lease/lease.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";

/** A claim that the store has granted: the lease on an event that is handled as it arrives. */
export interface HeldClaim extends Lease {
  readonly key: EventKey;
  readonly type: string;
  /** Where the event came from. */
  readonly facts: ContextFacts;
  readonly token: string;
  /** When the claim was requested, by `performance.now()`. The lease began at this time or later. */
  readonly askedAt: number;
  /** The CRC-32 of the body, if it is known. */
  readonly fingerprint: number | undefined;
  /** Whether the queue behind the processor will not try the event again after this outcome. */
  readonly isLastAttempt: ((outcome: UndoneOutcome) => boolean) | undefined;
}

/** For how many leases a handler may keep its event after its signal has aborted. */
const leasesAfterAbort = 10;

/**
 * Renews a claim every third of its lease, and aborts the claim's signal when the claim is lost or `outer` aborts. Returns a function that
 * stops both. The claim is lost when the store says so, or when no renewal has succeeded for a whole lease. If the handler does
 * not end after its signal has aborted, renewals stop after ten more leases, and the next delivery can claim the event.
 */
export function keepLease(
  store: Pick<DedupeStore, "extend">,
  held: HeldClaim,
  outer: AbortSignal | undefined,
  watch: LoopWatch,
): () => void {
  const { key, type, token, leaseMs, controller } = held;
  let isRenewing = false;
  let renewalsAfterAbort = 3 * leasesAfterAbort;
  let dueAt = held.askedAt + leaseMs / 3;
  const timer = setInterval(renew, leaseMs / 3);
  unref(timer);
  const onOuterAbort = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", onOuterAbort);
  if (outer?.aborted) onOuterAbort(); // it aborted during the call of the handler
  if (performance.now() >= dueAt) void renew(); // the call of the handler has blocked for longer

  async function renew(): Promise<void> {
    watch.expectedAt(dueAt, () => [type]);
    const renewedAt = performance.now();
    dueAt = renewedAt + leaseMs / 3;
    if (controller.signal.aborted && renewalsAfterAbort-- <= 0) return stop();
    if (advance(held, { kind: "time", now: renewedAt }) === "lost") return stop(); // no renewal succeeded in time
    if (isRenewing) return;
    isRenewing = true;
    try {
      const isRenewed = await store.extend(key, token, leaseMs);
      const state = advance(held, isRenewed ? { kind: "renewed", askedAt: renewedAt } : { kind: "refused" });
      if (state === "lost") stop();
    } catch {
      // the next third of the lease tries again
    } finally {
      isRenewing = false;
    }
  }

  function stop(): void {
    clearInterval(timer);
    outer?.removeEventListener("abort", onOuterAbort);
  }

  return stop;
}

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

/** Calls the store and returns its answer, or `store_unavailable` when it fails. Synchronous if the store is. */
export function callStore<T>(call: () => Awaitable<T>): Awaitable<{ readonly answer: T } | StoreUnavailable> {
  return tryThen<T, { readonly answer: T } | StoreUnavailable>(call, (answer) => ({ answer }), unavailable);
}

export function unavailable(error: unknown): StoreUnavailable {
  return { code: "store_unavailable", error };
}
