import type { EventKey } from "../event/event.ts";
import type { LoopWatch } from "../handle/loop-watch.ts";
import type { HandlerLease } from "../handle/run-handler.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";

/** Keeps a claim alive until `stop()`. */
export interface Lease extends HandlerLease {
  stop(): void;
}

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
  let controller: AbortController | undefined; // created on first use: most handlers never use the signal
  let lost = false;
  let isRenewing = false;
  let heldSince = askedAt;
  let renewalsAfterAbort = 3 * leasesAfterAbort;
  let dueAt = performance.now() + leaseMs / 3;

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

  const timer = setInterval(renew, leaseMs / 3);
  timer.unref();

  function stop(): void {
    clearInterval(timer);
    if (controller !== undefined) outer?.removeEventListener("abort", onOuterAbort);
  }

  return {
    get signal() {
      return signal();
    },
    remainingMs,
    stop,
  };
}
