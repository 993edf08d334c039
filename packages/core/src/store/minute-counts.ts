import { monotonicClock } from "../base/clock.ts";
import { unref } from "../base/waiting.ts";
import type { StoredEnding } from "./ending.ts";
import type { PutResult } from "./inbox-writer.ts";

/** The counts of an inbox in one minute, over all processes. */
export interface MinuteCounts {
  /** Events that were stored, imported ones included. */
  readonly stored: number;
  /** Events that are done, or unhandled. */
  readonly done: number;
  /** Attempts that failed, or were put off, and are tried again. */
  readonly retried: number;
  /** Events that died, those that operators gave up included. */
  readonly dead: number;
}

/** A minute of the last day. */
export interface Minute extends MinuteCounts {
  /** When it began. */
  readonly at: Date;
}

/** For authors of inboxes: how long minutes are kept, in ms. */
export const minutesKeptMs = 86_400_000;

/** Counts for one process, and keeps the counts until they are written. */
export interface MinuteCounter {
  /** Counts the events that `put` has stored. */
  put(results: readonly PutResult[]): void;
  /** Counts the settlements whose lease was still held: `held` says so for each, in the same order. */
  settled(settlements: readonly Pick<StoredEnding, "state">[], held: readonly boolean[]): void;
  /** Counts the events that an operator gave up. */
  gaveUp(events: number): void;
  /** Writes the counts that are not written yet. */
  close(): Promise<void>;
}

const writeEveryMs = 10_000;
const zero: MinuteCounts = { stored: 0, done: 0, retried: 0, dead: 0 };

/**
 * For authors of inboxes. Counts what `put`, `settle` and `giveUp` do. At most every 10 s it passes the new counts to `add`, which adds them to the
 * current minute. If `add` fails, they are passed again later. A process that is killed loses its unwritten counts, so use them
 * for plots only.
 */
export function createMinuteCounter(add: (counts: MinuteCounts) => Promise<void>): MinuteCounter {
  let counts: { -readonly [Name in keyof MinuteCounts]: number } = { ...zero };
  let dueAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();
  let isClosed = false;

  async function write(): Promise<void> {
    const written = counts;
    if (Object.values(written).every((count) => count === 0)) return;
    counts = { ...zero };
    dueAt = monotonicClock.now() + writeEveryMs;
    try {
      await add(written);
    } catch {
      for (const name of Object.keys(zero) as (keyof MinuteCounts)[]) counts[name] += written[name];
      plan();
    }
  }

  /** Writes the counts once the previous write has ended. */
  function writeNext(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  }

  function plan(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(() => void writeNext(), Math.max(0, dueAt - monotonicClock.now()));
    unref(timer);
  }

  return {
    put(results) {
      for (const result of results) if (result === "stored") counts.stored += 1;
      plan();
    },
    settled(settlements, held) {
      for (const [index, { state }] of settlements.entries()) {
        if (!held[index] || state === "given_back") continue;
        if (state === "done" || state === "unhandled") counts.done += 1;
        else if (state === "dead") counts.dead += 1;
        else counts.retried += 1;
      }
      plan();
    },
    gaveUp(events) {
      counts.dead += events;
      plan();
    },
    close() {
      isClosed = true;
      return writeNext();
    },
  };
}
