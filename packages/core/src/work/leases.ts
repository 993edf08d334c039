import type { LoopWatch } from "../handle/run-handler.ts";
import { advance, type Lease } from "../lease/lease.ts";
import type { InboxQueue, TakenEvent } from "../store/inbox-queue.ts";

/** The lease on an event that a worker has taken. */
export interface WorkerLease extends Lease {
  readonly taken: TakenEvent;
  /** When `take` was called, by `performance.now()`. */
  readonly takenAt: number;
  /** The event's type, if `typeLimits` has it. Otherwise null. */
  readonly group: string | null;
  /** How far the handler is. A suspect's handler waits until it is alone. From `running` on, it may have had an effect. */
  handler: "waiting" | "running" | "ended";
  /** Set by a worker that stops. Resolves to whether `giveBack` has published the end of the lease. */
  givenBack?: Promise<boolean>;
}

/** The leases of one worker, renewed together. */
export interface WorkerLeases {
  hold(taken: TakenEvent, takenAt: number, group?: string | null): WorkerLease;
  drop(lease: WorkerLease): void;
  /** The leases whose handler has not ended. */
  unended(): readonly WorkerLease[];
  /** Gives up all leases that are held, and stops renewing. */
  stop(reason: unknown): void;
}

/**
 * Renews leases every third of `leaseMs`, in one call for all that have used up a quarter of it. A lease is lost when the inbox says
 * so, or when no renewal has succeeded for `leaseMs`: another worker may have the event by then.
 */
export function keepLeases(
  inbox: Pick<InboxQueue, "extend">,
  leaseMs: number,
  watch: LoopWatch,
): WorkerLeases {
  const leases = new Set<WorkerLease>();
  let isRenewing = false;
  let dueAt = performance.now() + leaseMs / 3;

  async function renew(): Promise<void> {
    const now = performance.now();
    if (leases.size > 0) watch.expectedAt(dueAt, () => [...leases].map(({ taken }) => taken.type));
    dueAt = now + leaseMs / 3;
    const held = [...leases].filter((lease) => advance(lease, { kind: "time", now }) === "held");
    const due = held.filter(({ heldUntil }) => heldUntil - now <= (leaseMs * 3) / 4);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
    try {
      const renewed = await inbox.extend(
        due.map(({ taken }) => taken),
        leaseMs,
      );
      for (const [index, lease] of due.entries()) {
        if (!leases.has(lease)) continue; // it was settled during the call
        advance(lease, renewed[index] ? { kind: "renewed", askedAt: now } : { kind: "refused" });
      }
    } catch {
      // the next renewal tries again
    } finally {
      isRenewing = false;
    }
  }

  const timer = setInterval(renew, leaseMs / 3);
  return {
    hold(taken, takenAt, group = null) {
      const lease: WorkerLease = {
        taken,
        takenAt,
        group,
        handler: "waiting",
        state: "held",
        heldUntil: takenAt + leaseMs,
        leaseMs,
        controller: new AbortController(),
      };
      leases.add(lease);
      return lease;
    },
    drop: (lease) => void leases.delete(lease),
    unended: () => [...leases].filter(({ handler }) => handler !== "ended"),
    stop(reason) {
      clearInterval(timer);
      for (const lease of leases) advance(lease, { kind: "given_up", reason });
    },
  };
}
