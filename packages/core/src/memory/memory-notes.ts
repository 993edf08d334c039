import type { Clock } from "../base/clock.ts";
import {
  createMinuteCounter,
  type Minute,
  type MinuteCounter,
  minutesKeptMs,
} from "../store/minute-counts.ts";
import { mostRunNotes, type RunNote } from "../store/run-note.ts";

/** The notes of a memory inbox for operators, besides its events. */
export interface MemoryNotes {
  readonly counter: MinuteCounter;
  minutes(): readonly Minute[];
  noteRun(note: RunNote): void;
  runs(): readonly RunNote[];
}

const minuteMs = 60_000;

export function createMemoryNotes(clock: Clock): MemoryNotes {
  const minutes = new Map<number, Minute>();
  let notes: readonly RunNote[] = [];

  const counter = createMinuteCounter(async (added) => {
    const at = Math.floor(clock.now() / minuteMs) * minuteMs;
    const { stored, done, retried, dead } = minutes.get(at) ?? { stored: 0, done: 0, retried: 0, dead: 0 };
    minutes.set(at, {
      at: new Date(at),
      stored: stored + added.stored,
      done: done + added.done,
      retried: retried + added.retried,
      dead: dead + added.dead,
    });
    for (const each of minutes.keys()) if (each <= at - minutesKeptMs) minutes.delete(each);
  });

  return {
    counter,
    minutes: () => [...minutes.values()],
    noteRun(note) {
      const isKept = ({ kind }: RunNote, index: number, all: readonly RunNote[]) =>
        kind !== note.kind ||
        all.slice(0, index).filter((other) => other.kind === kind).length < mostRunNotes - 1;
      notes = [structuredClone(note), ...notes.filter(isKept)];
    },
    runs: () => notes,
  };
}
