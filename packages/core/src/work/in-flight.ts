import { setTimeout as sleep } from "node:timers/promises";
import { type Backoff, fullJitter } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { coalesce } from "../base/coalesce.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { within } from "../base/waiting.ts";
import type { LoopWatch } from "../handle/run-handler.ts";
import { settlementsStage } from "../handle/stages.ts";
import type { Ending, StoredEnding } from "../store/ending.ts";
import { readErrorText } from "../store/error-text.ts";
import type { InboxQueue, Settlement, TakenEvent } from "../store/inbox-queue.ts";
import { keepLeases, type WorkerLease } from "./leases.ts";
import { type Ended, reportEnd } from "./run-event.ts";

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
  runEvent(lease: WorkerLease): Promise<Ended>;
  /** Called when a handler has ended. `group`: see `WorkerLease`. */
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
  /** How many handlers have not ended, of one group or of all. A waiting suspect's handler is included. */
  running(group?: string): number;
  /** How many events are not settled yet, those with a running handler included. */
  unsettled(): number;
  /** Waits at most `ms` for all events to be settled. Then aborts the handlers that have not ended, and gives their events back. */
  stop(ms: number): Promise<void>;
}

const settleBatches = { maxItems: 500, maxFlushes: 2 };
const unanswered = "The inbox did not answer while the event was handled.";
const settleBackoff = fullJitter({ baseMs: 200, capMs: 5000 });

export function createInFlight(options: InFlightOptions): InFlightEvents {
  const { worker, inbox, leaseMs, signal, backoff, logger, watch, runEvent, onFree, onEnded } = options;
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  const leases = keepLeases(inbox, leaseMs, watch);
  const endings = new Set<Promise<void>>();
  const settleOne = coalesce(
    settlementsStage.around(
      (settlements: readonly Settlement[]) => inbox.settle(settlements),
      ({ length }) => ({ settlements: length }),
      () => ({ outcome: "settled" }),
    ),
    settleBatches,
  );

  async function run(lease: WorkerLease): Promise<Ended> {
    lease.handler = "running";
    try {
      return await runEvent(lease);
    } catch (err) {
      const { source, id, tries } = lease.taken;
      logUnavailable({ err, id, source }, unanswered);
      // the attempt counts: this event may be what makes the database fail
      const failed = { state: "retry", reason: "store_unavailable", error: unanswered } as const;
      return { ending: { ...failed, afterMs: backoff(tries) } };
    }
  }

  /** Runs the handler after `turn`. If the worker stops before, gives the event back. */
  async function runInTurn(lease: WorkerLease, turn: Promise<unknown>): Promise<Ended> {
    await turn;
    return signal.aborted ? { ending: { state: "given_back" } } : run(lease);
  }

  function begin(lease: WorkerLease, work: (lease: WorkerLease) => Promise<Ended>): Promise<void> {
    const ending = finish(lease, work).finally(() => {
      endings.delete(ending);
      onEnded();
    });
    endings.add(ending);
    return ending;
  }

  async function finish(lease: WorkerLease, work: (lease: WorkerLease) => Promise<Ended>): Promise<void> {
    const { ending, isStored } = await work(lease);
    lease.handler = "ended";
    onFree(lease.group);
    const isHeld =
      isStored || (isStorable(ending) && (await settle(settlementOf(lease, ending, worker), lease)));
    leases.drop(lease);
    if (isHeld || !(await lease.givenBack)) reportEnd(logger, lease, isHeld ? ending : lost(ending));
  }

  /** Settles an event, and tries again for as long as its lease lasts. Resolves to false when the lease was lost. */
  async function settle(settlement: Settlement, lease: WorkerLease): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await settleOne(settlement);
      } catch (err) {
        logUnavailable({ err }, "The inbox did not answer when an event was settled.");
        await sleep(settleBackoff(attempt));
        if (lease.state === "lost") return false;
      }
    }
  }

  /**
   * Makes an event ready again without counting a try. If the inbox does not answer, its lease expires. Resolves to whether
   * this has published its end. Otherwise the lease was not held: its handler may have committed, and `finish` publishes the end.
   */
  async function giveBack(lease: WorkerLease): Promise<boolean> {
    const ending = { state: "given_back", started: lease.handler === "running" } as const;
    try {
      const isSettled = await settleOne(settlementOf(lease, ending, worker));
      if (isSettled) reportEnd(logger, lease, ending);
      return isSettled;
    } catch (error) {
      reportEnd(logger, lease, { state: "store_unavailable", error });
      return true;
    }
  }

  return {
    start(taken, takenAt, group) {
      void begin(leases.hold(taken, takenAt, group), run);
    },
    async startAlone(taken, takenAt, group) {
      const turn = within(leaseMs, Promise.allSettled([...endings]), signal);
      const ending = begin(leases.hold(taken, takenAt, group), (lease) => runInTurn(lease, turn));
      await turn;
      return within(leaseMs, ending, signal);
    },
    running(group) {
      const unended = leases.unended();
      return group === undefined ? unended.length : unended.filter((lease) => lease.group === group).length;
    },
    unsettled: () => endings.size,
    async stop(ms) {
      await within(ms, Promise.allSettled([...endings]));
      const left = leases.unended();
      leases.stop(new DOMException("The worker is stopping.", "AbortError"));
      for (const lease of left) lease.givenBack = giveBack(lease);
      await Promise.all(left.map(({ givenBack }) => givenBack));
    },
  };
}

type Storable = Extract<Ending, Pick<StoredEnding, "state">>;

function isStorable(ending: Ending): ending is Storable {
  return ending.state !== "lost" && ending.state !== "store_unavailable";
}

/**
 * The settlement, with a report of the attempt if it has failed. An event that is dead because its attempts were used up has no attempt to
 * report.
 */
function settlementOf({ taken, takenAt }: WorkerLease, ending: Storable, worker: string): Settlement {
  const { source, id, token } = taken;
  if (ending.state !== "retry" && ending.state !== "dead") return { source, id, token, ...ending };
  const { reason, thrown: _thrown, cause: _cause, ...stored } = ending;
  if (reason === "attempts") return { source, id, token, ...stored };
  const durationMs = performance.now() - takenAt;
  const error = readErrorText(ending.error).error ?? "";
  return { source, id, token, ...stored, report: { reason, durationMs, error, worker } };
}

function lost(ending: Ending): Ending {
  return { state: "lost", ...("thrown" in ending && { thrown: ending.thrown }) };
}
