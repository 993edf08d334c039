import type { DedupeStore } from "./dedupe-store.ts";
import type { EventKey } from "./event.ts";

/** A claim that is renewed until it is stopped. */
export interface Lease {
  /** Aborts when the claim is lost, or when the signal it was made with does. */
  readonly signal: AbortSignal;
  stop(): void;
}

/**
 * Renews the claim every third of `leaseMs` while its handler runs. A renewal that cannot reach the store is
 * tried again at the next third: the lease itself says when it is too late.
 */
export function keepLease(
  store: DedupeStore,
  key: EventKey,
  token: string,
  leaseMs: number,
  outer: AbortSignal | undefined,
): Lease {
  const controller = new AbortController();
  const onOuterAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onOuterAbort();
  outer?.addEventListener("abort", onOuterAbort);

  const timer = setInterval(async () => {
    const held = await store.extend(key, token, leaseMs).catch(() => true);
    if (!held) controller.abort(new DOMException("The claim on this event was lost.", "AbortError"));
  }, leaseMs / 3);

  return {
    signal: controller.signal,
    stop() {
      clearInterval(timer);
      outer?.removeEventListener("abort", onOuterAbort);
    },
  };
}
