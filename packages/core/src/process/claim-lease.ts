import type { EventKey } from "../event/event.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";

/** A claim that is renewed until it is stopped. */
export interface Lease {
  /** Aborts when the claim is lost, or when the signal it was made with does. */
  readonly signal: AbortSignal;
  /** Milliseconds for which nobody else can have the claim, as far as the store has confirmed it. */
  remainingMs(): number;
  stop(): void;
}

/** A claim as the store gave it. */
export interface HeldClaim {
  readonly key: EventKey;
  readonly type: string;
  readonly attempt: number;
  readonly token: string;
  readonly leaseMs: number;
  /** When it was asked for, by `performance.now()`: the lease has not begun before. */
  readonly askedAt: number;
}

/** How many leases long a handler that was told to stop may still hold its event. */
const leasesAfterAbort = 10;

/**
 * Renews the claim every third of its lease while its handler runs. The claim counts as lost when the store says so,
 * or when no renewal has got through for a whole lease. A handler that does not end after its signal has aborted is
 * given ten leases more; then its event is free for the next delivery.
 */
export function keepLease(
  store: Pick<DedupeStore, "extend">,
  { key, token, leaseMs, askedAt }: HeldClaim,
  outer: AbortSignal | undefined,
): Lease {
  let controller: AbortController | undefined; // made when the handler asks for the signal: most never do
  let lost = false;
  let asking = false;
  let heldSince = askedAt;
  let renewalsAfterAbort = 3 * leasesAfterAbort;

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
    if (outer?.aborted && renewalsAfterAbort-- <= 0) return stop();
    if (remainingMs() <= 0) return lose(); // the store is away, and the lease with it
    if (asking) return;
    asking = true;
    const renewedAt = performance.now();
    try {
      if (await store.extend(key, token, leaseMs)) heldSince = renewedAt;
      else lose();
    } catch {
      // asked again at the next third
    } finally {
      asking = false;
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
