import type { Clock } from "../base/clock.ts";
import type { NewPause, Pause } from "../store/pause.ts";

/** The pauses of a memory inbox. */
export interface MemoryPauses {
  /** Whether events of this type are paused now. */
  has(type: string | null): boolean;
  add(pauses: readonly NewPause[]): void;
  /** Ends the pauses of these types, or all. Returns them. */
  end(types: readonly string[] | undefined): readonly Pause[];
  list(): readonly Pause[];
}

export function createMemoryPauses(clock: Clock): MemoryPauses {
  const pauses = new Map<string | null, Pause>();

  function forgetEnded(): void {
    const now = clock.now();
    for (const { type, until } of pauses.values())
      if (until !== null && until.getTime() <= now) pauses.delete(type);
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
    add(added) {
      const since = new Date(clock.now());
      for (const pause of added) pauses.set(pause.type, { ...pause, since });
    },
    end(types) {
      const ended = list().filter(
        ({ type }) => types === undefined || (type !== null && types.includes(type)),
      );
      for (const { type } of ended) pauses.delete(type);
      return ended;
    },
    list,
  };
}
