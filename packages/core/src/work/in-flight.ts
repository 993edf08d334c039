import { setTimeout as pause } from "node:timers/promises";
import { type Backoff, fullJitter } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { coalesce } from "../base/coalesce.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { within } from "../base/waiting.ts";
import type { LoopWatch } from "../handle/run-handler.ts";
import { settlementsStage } from "../handle/stages.ts";
import { readErrorText } from "../store/error-text.ts";
import type { InboxQueue, Settlement, TakenEvent } from "../store/inbox-queue.ts";
import { keepLeases, type WorkerLease } from "./leases.ts";
import { type Ending, type RunResult, reportEnd } from "./run-event.ts";

export interface InFlightOptions {
  /** The id of the worker. */
  readonly worker: string;
  readonly inbox: Pick<InboxQueue, "extend" | "settle">;
  readonly leaseMs: number;
  /** Aborts when the worker stops. */
  readonly signal: AbortSignal;
  readonly backoff: Backoff;
  readonly logger: Logger;
  readonly watch: LoopWatch;
  runEvent(lease: WorkerLease): Promise<RunResult>;
  /** Called when a handler of this group has ended. */
  onFree(group: string | null): void;
  /** Called when an event is settled, or its lease is lost. */
  onEnded(): void;
}

/** The events that a worker has taken and not yet settled. */
export interface InFlightEvents {
  /** Starts the handler of a taken event. `takenAt` is when `take` was called, by `performance.now()`. */
  start(taken: TakenEvent, takenAt: number, group: string | null): void;
  /**
   * Waits at most `leaseMs` for the others to be settled, then starts the handler. Resolves to true once the event is settled,
   * or to false after another `leaseMs` or when the worker stops.
   */
  startAlone(taken: TakenEvent, takenAt: number, group: string | null): Promise<boolean>;
  /** How many handlers run, of one group or of all. */
  running(group?: string): number;
  /** How many events are not settled yet, those with a running handler included. */
  unsettled(): number;
  /** Waits at most `ms` for all events to be settled. Then aborts the running handlers, and gives their events back. */
  stop(ms: number): Promise<void>;
}

const settleBatches = { maxItems: 500, maxFlushes: 2 };
const unanswered = "The inbox did not answer while the event was handled.";
const settleBackoff = fullJitter({ baseMs: 200, capMs: 5000 });

export function createInFlight(options: InFlightOptions): InFlightEvents {
  const { worker, inbox, leaseMs, signal, backoff, logger, watch, runEvent, onFree, onEnded } = options;
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  const leases = keepLeases(inbox, leaseMs, watch);
  const running = new Map<WorkerLease, string | null>();
  const endings = new Set<Promise<void>>();
  /** Those whose event has begun to run, so that its handler may have been started. */
  const started = new WeakSet<WorkerLease>();
  const givenBack = new WeakMap<WorkerLease, Promise<boolean>>();
  const settleOne = coalesce(
    settlementsStage.around(
      (settlements: readonly Settlement[]) => inbox.settle(settlements),
      ({ length }) => ({ settlements: length }),
      () => ({ outcome: "settled" }),
    ),
    settleBatches,
  );

  async function run(lease: WorkerLease): Promise<RunResult> {
    started.add(lease);
    try {
      return await runEvent(lease);
    } catch (err) {
      const { source, id, token, tries } = lease.taken;
      logUnavailable({ err, id, source }, unanswered);
      // the attempt counts: this event may be what makes the database fail
      return {
        settlement: { source, id, token, state: "ready", afterMs: backoff(tries), error: unanswered },
        reason: "store_unavailable",
      };
    }
  }

  /** Runs the handler once the event may start, unless the worker stops before. */
  async function runInTurn(lease: WorkerLease, turn: Promise<unknown>): Promise<RunResult> {
    await turn;
    return signal.aborted ? { settlement: untouched(lease) } : run(lease);
  }

  function begin(lease: WorkerLease, work: (lease: WorkerLease) => Promise<RunResult>): Promise<void> {
    const ending = finish(lease, work).finally(() => {
      endings.delete(ending);
      onEnded();
    });
    endings.add(ending);
    return ending;
  }

  function hold(taken: TakenEvent, takenAt: number, group: string | null): WorkerLease {
    const lease = leases.hold(taken, takenAt);
    running.set(lease, group);
    return lease;
  }

  async function finish(lease: WorkerLease, work: (lease: WorkerLease) => Promise<RunResult>): Promise<void> {
    const result = await work(lease);
    const group = running.get(lease) ?? null;
    running.delete(lease);
    onFree(group);
    const settled =
      result === "committed" || (result !== "lost" && (await settle(reported(result, lease), lease)));
    leases.drop(lease);
    if (settled || !(await givenBack.get(lease))) reportEnd(logger, lease, result, !settled);
  }

  /** The settlement, with a report of the attempt if it has failed. An event whose attempts are used up had none. */
  function reported({ settlement, reason }: Ending, { takenAt }: WorkerLease): Settlement {
    if (settlement.state !== "ready" && settlement.state !== "dead") return settlement;
    if (reason === undefined || reason === "attempts") return settlement;
    const { error } = readErrorText(settlement.error);
    const durationMs = performance.now() - takenAt;
    return { ...settlement, report: { reason, durationMs, error: error ?? "", worker } };
  }

  /** Settles an event, and tries again for as long as its lease lasts. Resolves to false when the lease was lost. */
  async function settle(settlement: Settlement, lease: WorkerLease): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await settleOne(settlement);
      } catch (err) {
        logUnavailable({ err }, "The inbox did not answer when an event was settled.");
        await pause(settleBackoff(attempt));
        if (lease.isLost) return false;
      }
    }
  }

  /**
   * Makes an event ready again, as if it had not been taken. If that fails, its lease expires. Resolves to whether the end
   * of the lease was published; if not, its handler may have committed it, which `finish` knows.
   */
  async function giveBack(lease: WorkerLease): Promise<boolean> {
    const settlement = started.has(lease)
      ? ({ ...untouched(lease), wasStarted: true } as const)
      : untouched(lease);
    try {
      const isSettled = await settleOne(settlement);
      if (isSettled) reportEnd(logger, lease, { settlement });
      return isSettled;
    } catch (error) {
      reportEnd(logger, lease, { error });
      return true;
    }
  }

  return {
    start(taken, takenAt, group) {
      void begin(hold(taken, takenAt, group), run);
    },
    async startAlone(taken, takenAt, group) {
      const turn = within(leaseMs, Promise.allSettled([...endings]), signal);
      const ending = begin(hold(taken, takenAt, group), (lease) => runInTurn(lease, turn));
      await turn;
      return within(leaseMs, ending, signal);
    },
    running(group) {
      if (group === undefined) return running.size;
      let count = 0;
      for (const other of running.values()) if (other === group) count += 1;
      return count;
    },
    unsettled: () => endings.size,
    async stop(ms) {
      await within(ms, Promise.allSettled([...endings]));
      const left = [...running.keys()];
      leases.abortAll(new DOMException("The worker is stopping.", "AbortError"));
      leases.stop();
      for (const lease of left) givenBack.set(lease, giveBack(lease));
      await Promise.all(left.map((lease) => givenBack.get(lease)));
    },
  };
}

function untouched({ taken: { source, id, token } }: WorkerLease) {
  return { source, id, token, state: "untouched" } as const;
}
