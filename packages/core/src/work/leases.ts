import type { HandlerLease, LoopWatch } from "../handle/run-handler.ts";
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
  heldSince: number;
  lose(reason: unknown): void;
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
    if (leases.size > 0) watch.timerFired(dueAt, () => [...leases].map(({ taken }) => taken.type));
    dueAt = now + leaseMs / 3;
    for (const held of leases) if (held.remainingMs() <= 0) held.lose(lostReason());
    const due = [...leases].filter((held) => !held.isLost && now - held.heldSince >= leaseMs / 4);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
    try {
      const renewed = await inbox.extend(
        due.map(({ taken }) => taken),
        leaseMs,
      );
      for (const [index, held] of due.entries()) {
        if (renewed[index]) held.heldSince = now;
        else if (leases.has(held)) held.lose(lostReason()); // else it was settled during the call
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
      const held = createHeld(taken, takenAt, leaseMs);
      leases.add(held);
      return held;
    },
    drop: (lease) => void leases.delete(lease as Held),
    abortAll(reason) {
      for (const held of leases) held.lose(reason);
    },
    stop: () => clearInterval(timer),
  };
}

function createHeld(taken: TakenEvent, takenAt: number, leaseMs: number): Held {
  let controller: AbortController | undefined;
  let lostFor: { readonly reason: unknown } | undefined;
  return {
    taken,
    takenAt,
    heldSince: takenAt,
    get isLost() {
      return lostFor !== undefined;
    },
    remainingMs() {
      return lostFor === undefined ? this.heldSince + leaseMs - performance.now() : 0;
    },
    signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (lostFor !== undefined) controller.abort(lostFor.reason);
      }
      return controller.signal;
    },
    lose(reason) {
      lostFor ??= { reason };
      controller?.abort(reason);
    },
  };
}

function lostReason(): DOMException {
  return new DOMException("The lease on this event was lost.", "AbortError");
}
