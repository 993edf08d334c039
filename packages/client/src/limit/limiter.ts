import type { ClientClock } from "../base/client-clock.ts";
import { type Budget, windowBudget } from "./budget.ts";
import type { Rate } from "./rate.ts";
import { type Priority, waitingLine } from "./waiting-line.ts";

/** A call's turn to be sent. */
export interface Turn {
  /** The call was answered, or given up. `rate` is what the answer says of the limit. */
  answered(rate?: Rate): void;
}

export interface LimiterState {
  /** How many calls wait for their turn. */
  readonly waiting: number;
  /** How many calls were sent and are not answered yet. */
  readonly inFlight: number;
  /** How many calls the service still takes in its window, as the last answer said; undefined when it did not. */
  readonly remaining: number | undefined;
}

/** Decides when a call may be sent. */
export interface Limiter {
  /** Waits for a turn. Rejects with the signal's reason. */
  take(priority: Priority, signal: AbortSignal): Promise<Turn>;
  state(): LimiterState;
}

export interface LimiterParts {
  readonly clock: ClientClock;
  readonly calls: number;
  readonly windowMs: number;
  /** Instead of a budget of its own. */
  readonly budget?: Budget | undefined;
}

/** First come, first served within a priority. One loop hands out the turns while calls wait. */
export function limiterOf({ clock, calls, windowMs, budget }: LimiterParts): Limiter {
  const local = windowBudget(clock, calls, windowMs);
  const line = waitingLine<Turn>();
  let inFlight = 0;
  let remaining: number | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isServing = false;
  let pause = new AbortController();

  /** Ends the pause of the loop, to look again. */
  function look(): void {
    pause.abort();
  }

  async function serve(): Promise<void> {
    isServing = true;
    try {
      while (line.length > 0) {
        pause = new AbortController(); // before the budget is asked: what changes meanwhile is not missed
        const now = clock.now();
        const place = pausedUntil > now ? { waitMs: pausedUntil - now } : await (budget ?? local).take();
        if ("waitMs" in place) {
          await clock.wait(place.waitMs, pause.signal).catch(() => {}); // something has changed
          continue;
        }
        const turn = turnOf(place.answered);
        if (!line.serve(turn)) turn.answered();
      }
    } catch (error) {
      line.fail(error);
    } finally {
      isServing = false;
    }
  }

  function turnOf(free: () => void): Turn {
    inFlight += 1;
    return {
      answered(rate = {}) {
        inFlight -= 1;
        free();
        obey(rate);
        look();
      },
    };
  }

  function obey(rate: Rate): void {
    if (rate.remaining !== undefined) remaining = rate.remaining;
    if (rate.pauseMs !== undefined) pausedUntil = Math.max(pausedUntil, clock.now() + rate.pauseMs);
    if (rate.policy !== undefined) local.adopt(rate.policy);
  }

  return {
    take(priority, signal) {
      const turn = line.join(priority, signal, look);
      if (!isServing) void serve();
      return turn;
    },
    state: () => ({ waiting: line.length, inFlight, remaining }),
  };
}
