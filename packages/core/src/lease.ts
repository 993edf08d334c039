import type { DedupeStore } from "./dedupe-store.ts";
import type { EventKey } from "./event.ts";

/** A claim that is renewed until it is stopped. */
export interface Lease {
  /** Aborts when the claim is lost, or when the signal it was made with does. */
  readonly signal: AbortSignal;
  stop(): void;
}

/** How many leases long a handler that was told to stop may still hold its event. */
const leasesAfterAbort = 10;

/**
 * Renews the claim every third of `leaseMs` while its handler runs. The claim counts as lost when the store says so,
 * or when no renewal has got through for a whole lease. A handler that does not end after its signal has aborted is
 * given ten leases more; then its event is free for the next delivery.
 */
export function keepLease(
  store: DedupeStore,
  key: EventKey,
  token: string,
  leaseMs: number,
  outer: AbortSignal | undefined,
): Lease {
  const controller = new AbortController();
  let heldSince = performance.now();
  let renewals = Number.POSITIVE_INFINITY;

  const onOuterAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onOuterAbort();
  outer?.addEventListener("abort", onOuterAbort);
  controller.signal.addEventListener("abort", () => {
    renewals = 3 * leasesAfterAbort;
  });

  async function renew(): Promise<void> {
    renewals -= 1;
    if (renewals < 0) return stop();
    const askedAt = performance.now();
    try {
      if (await store.extend(key, token, leaseMs)) heldSince = askedAt;
      else lose();
    } catch {
      if (performance.now() - heldSince >= leaseMs) lose(); // the store is away, and the lease with it
    }
  }

  function lose(): void {
    controller.abort(new DOMException("The claim on this event was lost.", "AbortError"));
    stop();
  }

  const timer = setInterval(renew, leaseMs / 3);
  timer.unref();

  function stop(): void {
    clearInterval(timer);
    outer?.removeEventListener("abort", onOuterAbort);
  }

  return { signal: controller.signal, stop };
}
