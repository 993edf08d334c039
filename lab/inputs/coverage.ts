import { type Profiler, Session } from "node:inspector";

/** A half-open range of a source, `[start, end)`. */
type Range = readonly [start: number, end: number];

/** The blocks of the packages that inputs have reached. */
export interface Coverage {
  /** Returns the blocks that were reached since the last call. */
  take(): Reached;
  /** Counts the blocks of `reached` that are new, in functions and in ranges of them. */
  news(reached: Reached): number;
  /** Remembers blocks: they are no news any more. */
  remember(reached: Reached): void;
  /** How many functions were reached, and how many characters of them were not. */
  total(): { readonly functions: number; readonly unreached: number };
  /** Forgets every block. */
  forget(): void;
  close(): void;
}

/** By function: the ranges of it that were not reached. */
export type Reached = ReadonlyMap<string, readonly Range[]>;

const ours = /\/packages\/[\w-]+\/src\//;

/** Starts to count blocks, by V8's precise coverage. Code runs slower from now on. */
export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  const unreached = new Map<string, readonly Range[]>();
  const ask = <Result>(method: string, params?: object): Result => {
    let answer: Result | undefined;
    session.post(method, params, (error, result) => {
      if (error) throw error;
      answer = result as Result;
    });
    return answer as Result; // a session of the same thread answers before `post` returns
  };
  ask("Profiler.enable");
  ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

  function left(name: string, gaps: readonly Range[]): readonly Range[] | undefined {
    const before = unreached.get(name);
    return before === undefined ? gaps : common(before, gaps);
  }

  return {
    take() {
      const { result } = ask<Profiler.TakePreciseCoverageReturnType>("Profiler.takePreciseCoverage");
      const reached = new Map<string, readonly Range[]>();
      for (const { url, functions } of result) {
        if (!ours.test(url)) continue;
        for (const { ranges } of functions) {
          const [whole] = ranges;
          if (whole !== undefined && whole.count > 0)
            reached.set(`${url}:${whole.startOffset}-${whole.endOffset}`, gapsOf(ranges));
        }
      }
      return reached;
    },
    news(reached) {
      let count = 0;
      for (const [name, gaps] of reached) {
        const before = unreached.get(name);
        if (before === undefined) count += 1;
        else if (sizeOf(before) > sizeOf(common(before, gaps))) count += 1;
      }
      return count;
    },
    remember(reached) {
      for (const [name, gaps] of reached) unreached.set(name, left(name, gaps) ?? []);
    },
    total: () => ({
      functions: unreached.size,
      unreached: [...unreached.values()].reduce((sum, ranges) => sum + sizeOf(ranges), 0),
    }),
    forget: () => unreached.clear(),
    close: () => session.disconnect(),
  };
}

/** The ranges of a function that were not reached. An inner range, which comes later, corrects an outer one. */
function gapsOf(ranges: readonly Profiler.CoverageRange[]): readonly Range[] {
  let gaps: readonly Range[] = [];
  for (const { startOffset, endOffset, count } of ranges) {
    const outside = gaps.flatMap(([start, end]): Range[] => [
      ...(start < startOffset ? [[start, Math.min(end, startOffset)] as const] : []),
      ...(end > endOffset ? [[Math.max(start, endOffset), end] as const] : []),
    ]);
    gaps = count > 0 ? outside : [...outside, [startOffset, endOffset] as const].sort(([a], [b]) => a - b);
  }
  return gaps;
}

function common(some: readonly Range[], others: readonly Range[]): readonly Range[] {
  if (some.length === 0) return some;
  return some.flatMap(([from, to]) =>
    others.flatMap(([start, end]): Range[] => {
      const both: Range = [Math.max(from, start), Math.min(to, end)];
      return both[0] < both[1] ? [both] : [];
    }),
  );
}

function sizeOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [start, end]) => sum + end - start, 0);
}
