import type { TraceIds } from "../base/tracer.ts";

/**
 * The right to handle an event, which a store has granted for `leaseMs`, and may renew. The store counts from its grant, this process
 * from when it asked, which is earlier. Only `advance` changes its state and its time.
 */
export interface Lease {
  /** `lost`: another process may have the event, or this one has given it up. */
  state: "held" | "lost";
  /** The time, by `performance.now()`, until which no other process can have the event if the lease is held. */
  heldUntil: number;
  readonly leaseMs: number;
  /** Aborts when the lease is lost, or when the handler must stop. */
  readonly controller: AbortController;
  /** The ids of the handler's span, for the log. */
  spanIds?: TraceIds;
}

/** An occurrence that may change a lease. Times are of `performance.now()`. */
export type LeaseStep =
  /** Time has passed. The lease ends if `now` is its `heldUntil` or later. */
  | { readonly kind: "time"; readonly now: number }
  /** The store has confirmed the renewal that was requested at `askedAt`. */
  | { readonly kind: "renewed"; readonly askedAt: number }
  /** The store says that the lease has ended. */
  | { readonly kind: "refused" }
  /** This process gives the lease up, for `reason`. */
  | { readonly kind: "given_up"; readonly reason: unknown };

/** Changes a lease, and aborts its signal if that loses it. A lost lease stays lost: the answer to a renewal may be late. */
export function advance(lease: Lease, step: LeaseStep): Lease["state"] {
  if (lease.state === "lost" || (step.kind === "time" && step.now < lease.heldUntil)) return lease.state;
  if (step.kind === "renewed") lease.heldUntil = step.askedAt + lease.leaseMs;
  else {
    lease.state = "lost";
    lease.controller.abort(step.kind === "given_up" ? step.reason : lost());
  }
  return lease.state;
}

function lost(): DOMException {
  return new DOMException("The lease on this event was lost.", "AbortError");
}
