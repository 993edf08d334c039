import type { Classified } from "./classify.ts";

/** Consecutive records, and their items for the sink. */
export interface Batch<Item> {
  readonly records: readonly Classified<Item>[];
  readonly items: readonly Item[];
}

export interface BatchBuilder<Item> {
  /** Adds a record. Returns true when the batch is full. */
  add(record: Classified<Item>): boolean;
  /** The records added since the last call; undefined if there are none. */
  take(): Batch<Item> | undefined;
}

const mostRecords = 10_000; // reached only when most records are filtered
const mostBytes = 4 * 1024 * 1024;

export function createBatchBuilder<Item>(mostItems: number): BatchBuilder<Item> {
  let records: Classified<Item>[] = [];
  let items: Item[] = [];
  let bytes = 0;
  return {
    add(record) {
      records.push(record);
      if (record.verdict === null) items.push(record.item as Item);
      bytes += record.bytes;
      return items.length >= mostItems || records.length >= mostRecords || bytes >= mostBytes;
    },
    take() {
      if (records.length === 0) return undefined;
      const batch = { records, items };
      records = [];
      items = [];
      bytes = 0;
      return batch;
    },
  };
}
