import type { Logger } from "@esim-webhooks/core";
import { ApiError } from "../base/api-error.ts";
import type { ClientClock } from "../base/client-clock.ts";
import { type Budget, type Place, windowBudget } from "./budget.ts";
import type { Rate } from "./rate.ts";
import { type Priority, waitingLine } from "./waiting-line.ts";

/** A slot in which a call may be sent. */
export interface Slot {
  /** The call was answered, or was not sent. `rate` is what the answer says of the limit. */
  answered(rate?: Rate): void;
  /** No complete answer came. The request may still arrive. */
  givenUp(): void;
}

/** The state of a limiter at the moment. */
export interface LimiterState {
  /** How many calls wait to be sent. */
  readonly waiting: number;
  /** How many calls were sent and are not answered yet. */
  readonly inFlight: number;
  /** How many calls the service still accepts in its window, by the last answer that says so; undefined before the first one. */
  readonly remaining: number | undefined;
  /** How long no call will be sent, because the service asked for a pause, in ms. */
  readonly pauseMs: number;
}

/** Decides when a call may be sent. */
export interface Limiter {
  /**
   * Waits for a slot. Rejects with the signal's reason, and with `rate_limited` as soon as the service asks for a pause that
   * is longer than `timeLeftMs` of the call.
   */
  take(priority: Priority, signal: AbortSignal, timeLeftMs?: number): Promise<Slot>;
  /** Returns how many calls wait and are in flight, for gauges. */
  state(): LimiterState;
}

export interface LimiterParts {
  readonly clock: ClientClock;
  readonly calls: number;
  readonly windowMs: number;
  /** Used in place of a budget of the limiter's own. */
  readonly budget?: Budget | undefined;
  readonly logger: Logger;
}

/**
 * How long the `Retry-After` of one call pauses all calls at most, in ms: it may be meant only for that call. After the pause, the answer
 * of the next call shows whether to pause again.
 */
const longestPauseMs = 60_000;

/** First come, first served within a priority. One loop gives out the slots while calls wait. */
export function limiterOf({ clock, calls, windowMs, budget, logger }: LimiterParts): Limiter {
  const local = windowBudget(clock, calls, windowMs);
  const line = waitingLine<Slot>();
  let inFlight = 0;
  let remaining: number | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isServing = false;
  let hasFailed = false;
  let pause = new AbortController();

  const pauseMs = () => Math.max(0, pausedUntil - clock.now());

  /** Ends the wait of the loop, so that it looks again. */
  function look(): void {
    pause.abort();
  }

  async function serve(): Promise<void> {
    isServing = true;
    try {
      while (line.length > 0) {
        pause = new AbortController(); // set before the budget is asked, so that a change in the meantime is noticed
        line.dismiss(pauseMs() > 0 ? pausedUntil : Number.NEGATIVE_INFINITY, () => pausedFor(pauseMs()));
        const place = pauseMs() > 0 ? { waitMs: pauseMs() } : await (budget ?? local).take();
        if ("waitMs" in place) {
          await clock.wait(place.waitMs, pause.signal).catch(() => {}); // something has changed
          continue;
        }
        const slot = slotOf(place);
        if (!line.serve(slot)) slot.answered();
      }
    } catch (error) {
      line.dismiss(Number.POSITIVE_INFINITY, () => error);
    } finally {
      isServing = false;
    }
  }

  function slotOf(place: Place): Slot {
    inFlight += 1;
    return {
      answered(rate = {}) {
        inFlight -= 1;
        void free(place);
        obey(rate);
        look();
      },
      givenUp() {
        inFlight -= 1;
      },
    };
  }

  /** A budget that fails must not cost the caller its answer. */
  async function free(place: Place): Promise<void> {
    try {
      await place.answered();
    } catch (err) {
      if (!hasFailed) logger.warn({ err }, "The budget of the limiter failed to note an answer. Said once.");
      hasFailed = true;
    }
  }

  function obey(rate: Rate): void {
    if (rate.remaining !== undefined) remaining = rate.remaining;
    if (rate.pauseMs !== undefined)
      pausedUntil = Math.max(pausedUntil, clock.now() + Math.min(rate.pauseMs, longestPauseMs));
    if (rate.policy !== undefined) local.adopt(rate.policy);
  }

  return {
    take(priority, signal, timeLeftMs = Number.POSITIVE_INFINITY) {
      const slot = line.join(priority, signal, clock.now() + timeLeftMs, look);
      if (!isServing) void serve();
      else if (pauseMs() >= timeLeftMs) look();
      return slot;
    },
    state: () => ({ waiting: line.length, inFlight, remaining, pauseMs: pauseMs() }),
  };
}

function pausedFor(pauseMs: number): ApiError {
  return new ApiError(
    "rate_limited",
    `the service asked for a pause, of which ${pauseMs} ms are left.`,
    "Call again after error.retryAfterMs, or raise timeoutMs.",
    { where: "limiter", retryAfterMs: pauseMs },
  );
}
