import type { Awaitable } from "../base/awaitable.ts";
import type { Logger } from "../base/logger.ts";
import { outcomeFields } from "../base/trace.ts";
import { andThen, attempt, startDeadline, unref } from "../base/waiting.ts";
import type { EventKey } from "../event/event.ts";
import type { EventOutcome, UndoneOutcome } from "../handle/event-outcome.ts";
import { type HandlerLease, type LoopWatch, lostLease } from "../handle/run-handler.ts";
import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";

/** A claim that the store has granted, and the lease on it. */
export interface HeldClaim extends HandlerLease {
  readonly key: EventKey;
  readonly type: string;
  readonly attempt: number;
  readonly token: string;
  readonly leaseMs: number;
  /** When it was requested, by `performance.now()`. The lease began at this time or later. */
  readonly askedAt: number;
  heldUntil: number;
  /** The CRC-32 of the body, if it is known. */
  readonly fingerprint: number | undefined;
  /** Whether the queue behind the processor will not try the event again after this outcome. */
  readonly givesUp: ((outcome: UndoneOutcome) => boolean) | undefined;
  /** Aborts `signal`. */
  readonly controller: AbortController;
}

/** For how many leases a handler may keep its event after its signal has aborted. */
const leasesAfterAbort = 10;

/**
 * Renews the claim every third of its lease, and aborts its signal when it is lost or `outer` aborts, until the function that it
 * returns is called. The claim is lost when the store says so, or when no renewal has succeeded for a whole lease. If the handler does
 * not end after `outer` has aborted, renewals stop after ten more leases, and the next delivery can claim the event.
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
  if (outer?.aborted) onOuterAbort(); // during the call of the handler
  if (performance.now() >= dueAt) void renew(); // the call of the handler has blocked for longer

  async function renew(): Promise<void> {
    watch.expectedAt(dueAt, () => [type]);
    const renewedAt = performance.now();
    dueAt = renewedAt + leaseMs / 3;
    if (outer?.aborted && renewalsAfterAbort-- <= 0) return stop();
    if (held.heldUntil <= renewedAt) return lose(); // no renewal succeeded in time
    if (isRenewing) return;
    isRenewing = true;
    try {
      if (!(await store.extend(key, token, leaseMs))) lose();
      else if (held.heldUntil !== lostLease) held.heldUntil = renewedAt + leaseMs;
    } catch {
      // the next third of the lease tries again
    } finally {
      isRenewing = false;
    }
  }

  function lose(): void {
    held.heldUntil = lostLease;
    controller.abort(new DOMException("The claim on this event was lost.", "AbortError"));
    stop();
  }

  function stop(): void {
    clearInterval(timer);
    outer?.removeEventListener("abort", onOuterAbort);
  }

  return stop;
}

/** Ends a claim in the store, according to the outcome of its event. */
export interface Settler {
  /**
   * For a done event. While the store fails, waits for the mark until the lease would end. What is still not marked then
   * stays with `keepAsking`.
   */
  complete(held: HeldClaim, outcome: EventOutcome): Awaitable<EventOutcome>;
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
    complete(held, outcome) {
      const leftMs = held.heldUntil - performance.now();
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
        if ("error" in released)
          logger.debug({ id: held.key.id }, "A claim could not be released; it ends with its lease.");
        if (settleNotice.hasSubscribers) publish(held, endOfUndone(held, outcome, released));
        return outcome;
      });
    },
  };
}

/** How `observe` names the end of an event that is not done. */
function endOfUndone(
  held: HeldClaim,
  outcome: EventOutcome,
  released: { readonly answer: boolean } | StoreUnavailable,
): Ending {
  if ("answer" in released && !released.answer) return { outcome: "lost" };
  const { code } = outcome;
  if ((code === "failed" || code === "retry_later") && isGivenUp(held, outcome))
    return { outcome: "dead", reason: code, ...("error" in outcome && { error: outcome.error }) };
  return "error" in released ? outcomeFields(released) : { outcome: "retry" };
}

/** What `givesUp` says; false when it throws. */
function isGivenUp({ givesUp }: HeldClaim, outcome: UndoneOutcome): boolean {
  try {
    return givesUp?.(outcome) ?? false;
  } catch {
    return false;
  }
}

type Ending = Pick<SettleMessage, "outcome" | "reason" | "error">;

function publish({ key, type, attempt, askedAt }: HeldClaim, ending: Ending): void {
  if (!settleNotice.hasSubscribers) return;
  const { source, id } = key;
  const durationMs = performance.now() - askedAt;
  settleNotice.publish({ source, id, type, by: "processor", attempt, ...ending, durationMs });
}

export type StoreUnavailable = Extract<EventOutcome, { code: "store_unavailable" }>;

/** Calls the store and returns its answer, or `store_unavailable` when it fails. Synchronous if the store is. */
export function callStore<T>(call: () => Awaitable<T>): Awaitable<{ readonly answer: T } | StoreUnavailable> {
  return attempt<T, { readonly answer: T } | StoreUnavailable>(call, (answer) => ({ answer }), unavailable);
}

export function unavailable(error: unknown): StoreUnavailable {
  return { code: "store_unavailable", error };
}
