import { setTimeout as pause } from "node:timers/promises";
import { type Backoff, fullJitter } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { coalesce } from "../base/coalesce.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import type { InboxQueue, Settlement, TakenEvent } from "../store/inbox-queue.ts";
import { keepLeases, type WorkerLease } from "./leases.ts";
import type { Worked } from "./run-event.ts";
import { tellSettled } from "./tell-settled.ts";

export interface WorkerHandsOptions {
  readonly inbox: Pick<InboxQueue, "extend" | "settle">;
  readonly leaseMs: number;
  readonly backoff: Backoff;
  readonly logger: Logger;
  work(lease: WorkerLease): Promise<Worked>;
  /** A handler has ended, of this group. */
  onFree(group: string | null): void;
  /** The event is out of hand: what became of it is written down, or its lease was lost. */
  onEnded(): void;
}

/** The events that a worker has in hand: worked at the moment, or not yet settled. */
export interface WorkerHands {
  /** Works an event that was taken by a call made at `askedAt`; `group` is what it is counted in. */
  start(taken: TakenEvent, askedAt: number, group: string | null): void;
  /** How many handlers run, of one group or of all. */
  working(group?: string): number;
  /** How many events are not settled yet, those worked included. */
  unsettled(): number;
  /** Waits for `ms` until all is settled, then has the handlers that are left stop, and gives their events back. */
  stop(ms: number): Promise<void>;
}

const gathered = { maxItems: 500, maxFlushes: 2 };
const unanswered = "The inbox did not answer while the event was worked.";
const awayBackoff = fullJitter({ baseMs: 200, capMs: 5000 });

export function createHands(options: WorkerHandsOptions): WorkerHands {
  const { inbox, leaseMs, backoff, logger, work, onFree, onEnded } = options;
  const logAway = throttledLog(logger.error, monotonicClock);
  const leases = keepLeases(inbox, leaseMs);
  const working = new Map<WorkerLease, string | null>();
  const endings = new Set<Promise<void>>();
  const givenBack = new WeakSet<WorkerLease>();
  const settleOne = coalesce((settlements: readonly Settlement[]) => inbox.settle(settlements), gathered);

  async function finish(lease: WorkerLease): Promise<void> {
    const worked = await work(lease).catch((err: unknown): Settlement => {
      const { source, id, token, attempt } = lease.taken;
      logAway({ err, id, source }, unanswered);
      // counted as a try: it may be what this event does to the database
      return { source, id, token, state: "ready", afterMs: backoff(attempt), error: unanswered };
    });
    const group = working.get(lease) ?? null;
    working.delete(lease);
    onFree(group);
    const settled = worked === "committed" || (worked !== "lost" && (await settle(worked, lease)));
    leases.drop(lease);
    if (!givenBack.has(lease)) tellSettled(lease, settled ? worked : "lost");
    if (settled) return;
    const { source, id } = lease.taken;
    logger.warn({ id, source }, "The lease on an event was lost, and its result discarded.");
  }

  /** Asks again while the lease is ours: what was done must be written down. False: it was lost. */
  async function settle(settlement: Settlement, lease: WorkerLease): Promise<boolean> {
    for (let attempt = 1; !lease.isLost; attempt++) {
      try {
        return await settleOne(settlement);
      } catch (err) {
        logAway({ err }, "The inbox did not answer when an event was settled.");
        await pause(awayBackoff(attempt));
      }
    }
    return false;
  }

  /** As if it had not been taken. Where that fails, its lease ends by itself. */
  async function giveBack(lease: WorkerLease): Promise<void> {
    givenBack.add(lease);
    const { source, id, token } = lease.taken;
    const settlement = { source, id, token, state: "untouched" } as const;
    try {
      tellSettled(lease, (await settleOne(settlement)) ? settlement : "lost");
    } catch (error) {
      tellSettled(lease, { error });
    }
  }

  return {
    start(taken, askedAt, group) {
      const lease = leases.hold(taken, askedAt);
      working.set(lease, group);
      const ending = finish(lease).finally(() => {
        endings.delete(ending);
        onEnded();
      });
      endings.add(ending);
    },
    working(group) {
      if (group === undefined) return working.size;
      let count = 0;
      for (const one of working.values()) if (one === group) count += 1;
      return count;
    },
    unsettled: () => endings.size,
    async stop(ms) {
      await within(ms, Promise.allSettled([...endings]));
      const left = [...working.keys()];
      leases.abortAll(new DOMException("The worker is stopping.", "AbortError"));
      leases.stop();
      await Promise.all(left.map(giveBack));
    },
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, timeUp]);
  clearTimeout(timer);
}
