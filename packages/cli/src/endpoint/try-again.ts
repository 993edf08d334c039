import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../program/error-text.ts";
import type { Output } from "../program/output.ts";

/** How a command that goes on until it is stopped waits for what it needs. */
export interface TryAgainOptions {
  readonly everyMs: number;
  readonly output: Output;
  /** The error to be told, if it only says that something is away; undefined: it is of no use to try again. */
  readonly asAway: (error: unknown) => unknown;
  /** What comes next, after the first error. */
  readonly next: string;
}

/** Does this every `everyMs` until nothing that it needs is away. Rejects with any other error. */
export async function tryAgain<Result>(
  work: () => Promise<Result>,
  { everyMs, output, asAway, next }: TryAgainOptions,
): Promise<Result> {
  for (let isFailing = false; ; isFailing = true) {
    try {
      return await work();
    } catch (error) {
      const away = asAway(error);
      if (away === undefined) throw error;
      if (!isFailing) output.note(`${describeError(away)} ${next}`);
    }
    await pause(everyMs);
  }
}
