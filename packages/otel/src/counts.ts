import type { Attributes, Meter, ObservableCallback, ObservableResult } from "@opentelemetry/api";

/** A counter whose sums are kept here, and read when metrics are collected. */
export interface Counter {
  /** Every call names the labels in the same order. */
  add(count: number, attributes: Attributes): void;
}

/** Makes the counters of a meter. */
export interface Counters {
  create(name: string, unit: string, description: string): Counter;
  /** Ends their collection. */
  stop(): void;
}

/** The sums of one counter as a tree: a level for each label, and a branch for each of its values. */
interface Branch {
  readonly branches: Map<unknown, Branch>;
  attributes: Attributes;
  /** Undefined if no call of `add` ends at this branch. */
  sum: number | undefined;
}

const newBranch = (): Branch => ({ branches: new Map(), attributes: {}, sum: undefined });

/** Makes counters that are cheap: those of the SDK sort the labels and make JSON of them at each call, which costs many times as much. */
export function createCounters(meter: Meter): Counters {
  const stops: (() => void)[] = [];
  return {
    create(name, unit, description) {
      const root = newBranch();
      const observe: ObservableCallback = (result) => observeSums(result, root);
      const counter = meter.createObservableCounter(name, { unit, description });
      counter.addCallback(observe);
      stops.push(() => counter.removeCallback(observe));
      return {
        add(count, attributes) {
          let branch = root;
          for (const label in attributes) {
            const value = attributes[label];
            let next = branch.branches.get(value);
            if (next === undefined) {
              next = newBranch();
              branch.branches.set(value, next);
            }
            branch = next;
          }
          if (branch.sum === undefined) branch.attributes = attributes;
          branch.sum = (branch.sum ?? 0) + count;
        },
      };
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function observeSums(result: ObservableResult, { branches, attributes, sum }: Branch): void {
  if (sum !== undefined) result.observe(sum, attributes);
  for (const branch of branches.values()) observeSums(result, branch);
}
