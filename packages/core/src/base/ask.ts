import type { Awaitable } from "./awaitable.ts";
import { createDeadline } from "./waiting.ts";

export interface AskOptions {
  /** How long one caller waits, in ms. */
  readonly withinMs: number;
  /** How long an answer or an error is used again, in ms. Default 0. */
  readonly keptMs?: number;
  /** The error to reject with once the time has passed. */
  late(): Error;
}

/**
 * Returns a function that calls `ask` and settles as it does, within a time limit. While a call is pending, all callers wait for that
 * one: what hangs is asked once.
 */
export function askInTime<Answer>(
  ask: () => Awaitable<Answer>,
  { withinMs, keptMs = 0, late }: AskOptions,
): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined;
  let endedAt: number | undefined;

  function current(): Promise<Answer> {
    if (asked !== undefined && (endedAt === undefined || performance.now() - endedAt < keptMs)) return asked;
    endedAt = undefined;
    const end = () => {
      endedAt = performance.now();
    };
    asked = (async () => ask())();
    asked.then(end, end);
    return asked;
  }

  return async () => {
    const deadline = createDeadline(withinMs);
    const answer = await deadline.before(current());
    if (deadline.signal.aborted) throw late();
    return answer as Answer; // undefined is an answer, too
  };
}
