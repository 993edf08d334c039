import type { Awaitable } from "../base/awaitable.ts";
import type { Logger } from "../base/logger.ts";
import { outcomeFields } from "../base/trace.ts";
import { andThen, attempt, startDeadline } from "../base/waiting.ts";
import type { EventKey } from "../event/event.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { HandlerLease, LoopWatch } from "../handle/run-handler.ts";
import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";

/** A claim that the store has granted. */
export interface HeldClaim {
  readonly key: EventKey;
  readonly type: string;
  readonly attempt: number;
  readonly token: string;
  readonly leaseMs: number;
  /** When it was requested, by `performance.now()`. The lease began at this time or later. */
  readonly askedAt: number;
  /** The CRC-32 of the body, if it is known. */
  readonly fingerprint: number | undefined;
}

/** Keeps a claim alive from `start()` until `stop()`. */
export interface Lease extends HandlerLease {
  start(): void;
  stop(): void;
}

/** For how many leases a handler may keep its event after its signal has aborted. */
const leasesAfterAbort = 10;

/**
 * Renews the claim every third of its lease while the handler runs. The claim is lost when the store says so, or when no
 * renewal has succeeded for a whole lease. If the handler does not end after its signal has aborted, renewals stop after
 * ten more leases, and the next delivery can claim the event.
 */
export function keepLease(
  store: Pick<DedupeStore, "extend">,
  { key, type, token, leaseMs, askedAt }: HeldClaim,
  outer: AbortSignal | undefined,
  watch: LoopWatch,
): Lease {
  let controller: AbortController | undefined;
  let lost = false;
  let isRenewing = false;
  let heldSince = askedAt;
  let renewalsAfterAbort = 3 * leasesAfterAbort;
  let dueAt = askedAt + leaseMs / 3;
  let timer: NodeJS.Timeout | undefined;

  const lostReason = () => new DOMException("The claim on this event was lost.", "AbortError");
  const onOuterAbort = () => controller?.abort(outer?.reason);

  function signal(): AbortSignal {
    if (controller !== undefined) return controller.signal;
    controller = new AbortController();
    if (lost) controller.abort(lostReason());
    else if (outer?.aborted) onOuterAbort();
    else outer?.addEventListener("abort", onOuterAbort);
    return controller.signal;
  }

  async function renew(): Promise<void> {
    watch.timerFired(dueAt, () => [type]);
    dueAt = performance.now() + leaseMs / 3;
    if (outer?.aborted && renewalsAfterAbort-- <= 0) return stop();
    if (remainingMs() <= 0) return lose(); // no renewal succeeded in time
    if (isRenewing) return;
    isRenewing = true;
    const renewedAt = performance.now();
    try {
      if (await store.extend(key, token, leaseMs)) heldSince = renewedAt;
      else lose();
    } catch {
      // the next third of the lease tries again
    } finally {
      isRenewing = false;
    }
  }

  function remainingMs(): number {
    return lost ? 0 : heldSince + leaseMs - performance.now();
  }

  function lose(): void {
    lost = true;
    controller?.abort(lostReason());
    stop();
  }

  function start(): void {
    timer = setInterval(renew, leaseMs / 3);
    timer.unref();
    if (performance.now() >= dueAt) void renew(); // the call of the handler has blocked for longer
  }

  function stop(): void {
    clearInterval(timer);
    if (controller !== undefined) outer?.removeEventListener("abort", onOuterAbort);
  }

  return { signal, remainingMs, start, stop };
}

/** Ends a claim in the store, according to the outcome of its event. */
export interface Settler {
  /**
   * For a done event. While the store fails, waits for the mark until the lease would end. What is still not marked then
   * stays with `keepAsking`.
   */
  complete(held: HeldClaim, outcome: EventOutcome, lease: Lease): Awaitable<EventOutcome>;
  /** For an event that is not done. If the store is unreachable, the claim ends with its lease. */
  release(held: HeldClaim, outcome: EventOutcome): Awaitable<EventOutcome>;
  /** For an event that was committed together with its done mark. */
  committed(held: HeldClaim, outcome: EventOutcome): EventOutcome;
  /** For an event whose claim was lost. */
  lost(held: HeldClaim): EventOutcome;
}

/** @param keepAsking goes on asking the store for the mark of a done event; true once it is marked */
export function createSettler(
  store: DedupeStore,
  logger: Logger,
  keepAsking: (held: HeldClaim) => Promise<boolean>,
): Settler {
  function committed(held: HeldClaim, outcome: EventOutcome): EventOutcome {
    publish(held, { outcome: "done" });
    return outcome;
  }

  function lost(held: HeldClaim): EventOutcome {
    publish(held, { outcome: "lost" });
    return { code: "lease_lost" };
  }

  /** For a done event that the store has not marked. `leftMs` is what was left of its lease. */
  async function unmarked(
    held: HeldClaim,
    outcome: EventOutcome,
    leftMs: number,
    completed: { readonly answer: boolean } | StoreUnavailable,
  ): Promise<EventOutcome> {
    // a handler that has seen its claim lost may have stopped half-way
    const marked = leftMs > 0 ? keepAsking(held) : Promise.resolve(false);
    if ("answer" in completed) return lost(held);
    if (await startDeadline(leftMs).before(marked)) return committed(held, outcome);
    publish(held, outcomeFields(completed));
    return completed;
  }

  return {
    committed,
    lost,
    complete(held, outcome, lease) {
      const leftMs = lease.remainingMs();
      const called = callStore(() => store.complete(held.key, held.token));
      return andThen(called, (completed) =>
        "answer" in completed && completed.answer
          ? committed(held, outcome)
          : unmarked(held, outcome, leftMs, completed),
      );
    },
    release(held, outcome) {
      const called = callStore(() => store.release(held.key, held.token));
      return andThen(called, (released) => {
        if ("error" in released) {
          logger.debug({ id: held.key.id }, "A claim could not be released; it ends with its lease.");
          publish(held, outcomeFields(released));
        } else publish(held, { outcome: released.answer ? "retry" : "lost" });
        return outcome;
      });
    },
  };
}

function publish(
  { key, type, attempt, askedAt }: HeldClaim,
  ending: Pick<SettleMessage, "outcome" | "error">,
): void {
  if (!settleNotice.hasSubscribers) return;
  const { source, id } = key;
  const durationMs = performance.now() - askedAt;
  settleNotice.publish({ source, id, type, by: "processor", attempt, ...ending, durationMs });
}

type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

/** Calls the store and returns its answer, or `store_unavailable` when it fails. Synchronous if the store is. */
export function callStore<T>(call: () => Awaitable<T>): Awaitable<{ readonly answer: T } | StoreUnavailable> {
  return attempt<T, { readonly answer: T } | StoreUnavailable>(call, (answer) => ({ answer }), unavailable);
}

function unavailable(error: unknown): StoreUnavailable {
  return { code: "store_unavailable", error };
}
