import type { InboxQueue, TakenEvent } from "../store/inbox-queue.ts";

/** A lease on a taken event, renewed until it is dropped or lost. */
export interface WorkerLease {
  readonly taken: TakenEvent;
  /** When the inbox was asked for it, by `performance.now()`. */
  readonly askedAt: number;
  /** What its body says it is, once that has been read. */
  type?: string | null;
  /** Aborts when the lease is lost, or when the handler must stop. */
  readonly signal: AbortSignal;
  readonly isLost: boolean;
}

/** The leases of one worker, renewed together. */
export interface WorkerLeases {
  hold(taken: TakenEvent, askedAt: number): WorkerLease;
  drop(lease: WorkerLease): void;
  /** Tells every handler that still runs to stop. */
  abortAll(reason: unknown): void;
  /** Stops renewing. */
  stop(): void;
}

interface Held extends WorkerLease {
  heldSince: number;
  lose(reason: unknown): void;
}

/**
 * Renews every third of `leaseMs`, in one call, what was not renewed since. A lease counts as lost when the inbox says
 * so, or when no renewal has got through for a whole lease: by then somebody else may have it.
 */
export function keepLeases(inbox: Pick<InboxQueue, "extend">, leaseMs: number): WorkerLeases {
  const leases = new Set<Held>();
  let asking = false;

  async function renew(): Promise<void> {
    const now = performance.now();
    for (const held of leases) if (now - held.heldSince >= leaseMs) held.lose(lostReason());
    const due = [...leases].filter((held) => !held.isLost && now - held.heldSince >= leaseMs / 4);
    if (asking || due.length === 0) return;
    asking = true;
    try {
      const renewed = await inbox.extend(
        due.map(({ taken }) => taken),
        leaseMs,
      );
      for (const [index, held] of due.entries()) {
        if (renewed[index]) held.heldSince = now;
        else if (leases.has(held)) held.lose(lostReason()); // else it was settled meanwhile
      }
    } catch {
      // asked again at the next third
    } finally {
      asking = false;
    }
  }

  const timer = setInterval(renew, leaseMs / 3);
  return {
    hold(taken, askedAt) {
      const held = createHeld(taken, askedAt);
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

function createHeld(taken: TakenEvent, askedAt: number): Held {
  let controller: AbortController | undefined; // made when the handler asks for the signal: most never do
  let lostFor: { readonly reason: unknown } | undefined;
  return {
    taken,
    askedAt,
    heldSince: askedAt,
    get isLost() {
      return lostFor !== undefined;
    },
    get signal() {
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
