import type { Judged } from "./classify.ts";

/** Records that follow one another in the dump, and whose items are handed over together. */
export interface Stretch<Item> {
  readonly records: readonly Judged<Item>[];
  readonly items: readonly Item[];
}

export interface StretchBuilder<Item> {
  /** Adds a record. True: it is enough for a stretch. */
  add(record: Judged<Item>): boolean;
  /** What was added since the last time. */
  take(): Stretch<Item>;
}

const mostRecords = 10_000; // most of them filtered
const mostBytes = 4 * 1024 * 1024;

export function createStretchBuilder<Item>(mostItems: number): StretchBuilder<Item> {
  let records: Judged<Item>[] = [];
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
      const stretch = { records, items };
      records = [];
      items = [];
      bytes = 0;
      return stretch;
    },
  };
}
