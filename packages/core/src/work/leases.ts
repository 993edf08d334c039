import { type HandlerLease, type LoopWatch, lostLease } from "../handle/run-handler.ts";
import type { InboxQueue, TakenEvent } from "../store/inbox-queue.ts";

/** A lease on a taken event, renewed until it is dropped or lost. */
export interface WorkerLease extends HandlerLease {
  readonly taken: TakenEvent;
  /** When `take` was called, by `performance.now()`. */
  readonly takenAt: number;
  readonly isLost: boolean;
}

/** The leases of one worker, renewed together. */
export interface WorkerLeases {
  hold(taken: TakenEvent, takenAt: number): WorkerLease;
  drop(lease: WorkerLease): void;
  /** Aborts the signals of all leases that are held. */
  abortAll(reason: unknown): void;
  /** Stops renewing. */
  stop(): void;
}

interface Held extends WorkerLease {
  heldUntil: number;
  isLost: boolean;
  readonly controller: AbortController;
}

/**
 * Renews leases, all in one call, every third of `leaseMs`. A lease is lost when the inbox says so, or when no renewal
 * has succeeded for `leaseMs`: another worker may have it by then.
 */
export function keepLeases(
  inbox: Pick<InboxQueue, "extend">,
  leaseMs: number,
  watch: LoopWatch,
): WorkerLeases {
  const leases = new Set<Held>();
  let isRenewing = false;
  let dueAt = performance.now() + leaseMs / 3;

  async function renew(): Promise<void> {
    const now = performance.now();
    if (leases.size > 0) watch.expectedAt(dueAt, () => [...leases].map(({ taken }) => taken.type));
    dueAt = now + leaseMs / 3;
    for (const held of leases) if (!held.isLost && held.heldUntil <= now) lose(held, lostReason());
    const due = [...leases].filter((held) => !held.isLost && held.heldUntil - now <= (leaseMs * 3) / 4);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
    try {
      const renewed = await inbox.extend(
        due.map(({ taken }) => taken),
        leaseMs,
      );
      for (const [index, held] of due.entries()) {
        if (held.isLost || !leases.has(held)) continue; // it was stopped or settled during the call
        if (renewed[index]) held.heldUntil = now + leaseMs;
        else lose(held, lostReason());
      }
    } catch {
      // the next renewal tries again
    } finally {
      isRenewing = false;
    }
  }

  const timer = setInterval(renew, leaseMs / 3);
  return {
    hold(taken, takenAt) {
      const controller = new AbortController();
      const { signal } = controller;
      const held = { taken, takenAt, heldUntil: takenAt + leaseMs, isLost: false, controller, signal };
      leases.add(held);
      return held;
    },
    drop: (lease) => void leases.delete(lease as Held),
    abortAll(reason) {
      for (const held of leases) lose(held, reason);
    },
    stop: () => clearInterval(timer),
  };
}

function lose(held: Held, reason: unknown): void {
  held.heldUntil = lostLease;
  held.isLost = true;
  held.controller.abort(reason);
}

function lostReason(): DOMException {
  return new DOMException("The lease on this event was lost.", "AbortError");
}
