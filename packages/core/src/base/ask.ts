import type { Awaitable } from "./awaitable.ts";
import { createDeadline } from "./waiting.ts";

/** Options of `askInTime`. */
export interface AskOptions {
  /** How long one caller waits, in ms. */
  readonly withinMs: number;
  /** How long an answer or an error is used again, in ms. Default 0. */
  readonly keptMs?: number;
  /** The error to reject with once the time has passed. */
  late(): Error;
}

/** The time after which a call is given up, in ms: its connection may have been lost without an error. */
const hungMs = 60_000;

/**
 * Returns a function that calls `ask` and settles as it does, within a time limit. Callers share the pending call. A call that hangs is given up
 * after a minute, and the next caller asks again.
 */
export function askInTime<Answer>(
  ask: () => Awaitable<Answer>,
  { withinMs, keptMs = 0, late }: AskOptions,
): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined;
  let usedUntil = 0;

  function current(): Promise<Answer> {
    if (asked !== undefined && performance.now() < usedUntil) return asked;
    usedUntil = performance.now() + hungMs;
    const call = (async () => ask())();
    const end = () => {
      if (call === asked) usedUntil = performance.now() + keptMs;
    };
    asked = call;
    call.then(end, end);
    return call;
  }

  return async () => {
    const deadline = createDeadline(withinMs);
    const answer = await deadline.before(current());
    if (deadline.signal.aborted) throw late();
    return answer as Answer; // undefined is an answer, too
  };
}
