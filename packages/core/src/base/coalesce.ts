import { AsyncLocalStorage } from "node:async_hooks";

/** Limits of what `coalesce` combines. */
export interface CoalesceOptions<Item> {
  /** How many items one flush takes at most. */
  readonly maxItems: number;
  /** How many flushes may be under way at the same time. */
  readonly maxFlushes: number;
  /** How large the items of one flush may be together, measured by `sizeOf`. A larger item has a flush of its own. Default: no limit. */
  readonly maxSize?: number;
  /** The size of an item, in the unit of `maxSize`. Default: 0. */
  readonly sizeOf?: (item: Item) => number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Runs work outside of any delivery: a flush serves many deliveries, and would otherwise be part of the trace of one of them. */
const outsideOfItems: <Result>(work: () => Result) => Result =
  AsyncLocalStorage.snapshot?.() ?? ((work) => work());

/**
 * Combines many concurrent calls into few flushes. While `maxFlushes` flushes are under way, items gather for the next one. Otherwise, the items of
 * an event-loop tick go together at its end. `flush` resolves to one result for each item, in the same order. When it rejects, the calls of all
 * its items reject. It runs in none of the async contexts of these calls.
 */
export function coalesce<Item, Result>(
  flush: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, maxFlushes, maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 0 }: CoalesceOptions<Item>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let flushes = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || flushes >= maxFlushes) return;
    scheduled = true;
    setImmediate(start);
  }

  function start(): void {
    scheduled = false;
    const batch = waiting.slice(0, nextLength());
    waiting = waiting.slice(batch.length);
    flushes += 1;
    void run(batch);
    schedule();
  }

  function nextLength(): number {
    let size = 0;
    const tooMany = waiting.findIndex(({ item }, index) => {
      size += sizeOf(item);
      return index === maxItems || (size > maxSize && index > 0);
    });
    return tooMany === -1 ? waiting.length : tooMany;
  }

  async function run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await outsideOfItems(() => flush(batch.map(({ item }) => item)));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index];
        if (result === undefined) reject(new TypeError("A flush did not answer for each of its items."));
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      flushes -= 1;
      schedule();
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
