import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { coalesce } from "../../src/base/coalesce.ts";

describe("coalesce", () => {
  it("batches items that arrive during a flush, up to maxItems, and answers one to one", async () => {
    const flushed: number[] = [];
    let underWay = 0;
    let most = 0;
    const double = coalesce<number, number>(
      async (items) => {
        flushed.push(items.length);
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setTimeout(resolve, 5));
        underWay -= 1;
        return items.map((item) => 2 * item);
      },
      { maxItems: 10, maxFlushes: 2 },
    );
    const numbers = Array.from({ length: 95 }, (_, n) => n);
    expect(await Promise.all(numbers.map(double))).toEqual(numbers.map((n) => 2 * n));
    expect(most).toBe(2);
    expect(flushed).toEqual([...Array(9).fill(10), 5]);
    expect(await double(7)).toBe(14);
    expect(flushed.at(-1)).toBe(1);
  });

  it("batches items up to maxSize, and flushes a larger item alone", async () => {
    const flushed: string[][] = [];
    const put = coalesce<string, boolean>(
      async (items) => {
        flushed.push([...items]);
        return items.map(() => true);
      },
      { maxItems: 10, maxFlushes: 1, maxSize: 5, sizeOf: (item) => item.length },
    );
    await Promise.all(["aaa", "bb", "c", "dddddddd", "e"].map(put));
    expect(flushed).toEqual([["aaa", "bb"], ["c"], ["dddddddd"], ["e"]]);
  });

  it("rejects the items of a failed flush, and continues with the others", async () => {
    const even = coalesce<number, string>(
      async ([item = 0]) => {
        if (item % 2 === 1) throw new Error(`odd: ${item}`);
        return ["even"];
      },
      { maxItems: 1, maxFlushes: 1 },
    );
    const results = await Promise.allSettled([1, 2, 3, 4].map(even));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
  });

  it("rejects an item without an answer from its flush", async () => {
    const silent = coalesce<number, number>(async () => [], { maxItems: 5, maxFlushes: 1 });
    await expect(silent(1)).rejects.toThrow("did not answer for each");
  });

  it("flushes in none of the async contexts of its items, which keep their own", async () => {
    const store = new AsyncLocalStorage<string>();
    const flushedIn: unknown[] = [];
    const put = coalesce<string, string>(
      async (items) => {
        flushedIn.push(store.getStore());
        await null;
        flushedIn.push(store.getStore());
        return items;
      },
      { maxItems: 1, maxFlushes: 1 },
    );
    const names = ["a", "b", "c"];
    const seen = await Promise.all(
      names.map((name) =>
        store.run(name, async () => {
          await put(name);
          return store.getStore();
        }),
      ),
    );
    expect(seen).toEqual(names);
    expect(flushedIn).toEqual(Array(6).fill(undefined));
  });
});
