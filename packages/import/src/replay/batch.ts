import type { Classified } from "./classify.ts";

/** Records that follow one another, and whose items go into the sink together. */
export interface Batch<Item> {
  readonly records: readonly Classified<Item>[];
  readonly items: readonly Item[];
}

export interface BatchBuilder<Item> {
  /** Adds a record. True: the batch is full. */
  add(record: Classified<Item>): boolean;
  /** What was added since the last time. */
  take(): Batch<Item>;
}

const mostRecords = 10_000; // most of them filtered
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
      const batch = { records, items };
      records = [];
      items = [];
      bytes = 0;
      return batch;
    },
  };
}
