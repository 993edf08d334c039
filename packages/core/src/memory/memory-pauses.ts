import type { Clock } from "../base/clock.ts";
import type { NewPause, Pause } from "../store/pause.ts";

/** The pauses of a memory inbox. */
export interface MemoryPauses {
  /** Whether events of this type are paused now. */
  has(type: string | null): boolean;
  /** When the last pause of events of this type ended, in ms since the Unix epoch; 0 if none has. */
  endedAt(type: string | null): number;
  add(pauses: readonly NewPause[]): void;
  /** Ends the pauses of these types, or all. Returns them. */
  end(types: readonly string[] | undefined): readonly Pause[];
  list(): readonly Pause[];
}

export function createMemoryPauses(clock: Clock): MemoryPauses {
  const pauses = new Map<string | null, Pause>();
  const ends = new Map<string | null, number>();

  function forget(type: string | null, atMs: number): void {
    pauses.delete(type);
    ends.set(type, atMs);
  }

  function forgetEnded(): void {
    const now = clock.now();
    for (const { type, until } of pauses.values())
      if (until !== null && until.getTime() <= now) forget(type, until.getTime());
  }

  function list(): readonly Pause[] {
    forgetEnded();
    return [...pauses.values()].sort((a, b) => ((a.type ?? "") < (b.type ?? "") ? -1 : 1));
  }

  return {
    has(type) {
      if (pauses.size === 0) return false;
      forgetEnded();
      return pauses.has(null) || (type !== null && pauses.has(type));
    },
    endedAt: (type) => Math.max(ends.get(null) ?? 0, ends.get(type) ?? 0),
    add(added) {
      const since = new Date(clock.now());
      for (const pause of added) pauses.set(pause.type, { ...pause, since });
    },
    end(types) {
      const ended = list().filter(
        ({ type }) => types === undefined || (type !== null && types.includes(type)),
      );
      for (const { type } of ended) forget(type, clock.now());
      return ended;
    },
    list,
  };
}
