import type { RawRecord } from "./record.ts";
import { type Keyed, openSortedRuns, type RunReader } from "./sorted-runs.ts";

type Batches = AsyncGenerator<readonly RawRecord[]>;

export interface OldestFirstOptions {
  /** When the record's event occurred; -Infinity for what has no time, which comes first. */
  readonly occurredMs: (raw: RawRecord) => number;
  /** How much is sorted in memory at a time, in characters. Default 32 Mi. */
  readonly runLength?: number;
}

const batchLength = 256 * 1024;

/**
 * The same records in the order in which their events occurred; as in the dump where that is the same. An external merge sort:
 * what does not fit in memory is sorted piece by piece into a temporary file, and the pieces are merged.
 */
export async function* oldestFirst(
  batches: AsyncIterable<readonly RawRecord[]>,
  { occurredMs, runLength = 32 * 1024 * 1024 }: OldestFirstOptions,
): Batches {
  let run: Keyed[] = [];
  let length = 0;
  let runs: Awaited<ReturnType<typeof openSortedRuns>> | undefined;
  try {
    for await (const batch of batches) {
      for (const raw of batch) {
        const text = JSON.stringify(raw);
        run.push({ key: occurredMs(raw), text });
        length += text.length;
      }
      if (length < runLength) continue;
      runs ??= await openSortedRuns();
      await runs.write(sorted(run));
      run = [];
      length = 0;
    }
    const readers = runs?.readers() ?? [];
    readers.push(readerOf(sorted(run))); // the last one, which need not go to disk
    yield* inBatches(readers);
  } finally {
    await runs?.close();
  }
}

function sorted(run: Keyed[]): Keyed[] {
  return run.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

function readerOf(run: readonly Keyed[]): RunReader {
  let at = 0;
  return { next: () => run[at++], fill: async () => false };
}

interface Head extends Keyed {
  readonly reader: RunReader;
  /** Of two that are of the same time, the one of the earlier run is first. */
  readonly order: number;
}

async function* inBatches(readers: readonly RunReader[]): Batches {
  const heads: Head[] = [];
  for (const [order, reader] of readers.entries()) {
    const head = await headOf(reader, order);
    if (head !== undefined) insert(heads, head);
  }
  let batch: RawRecord[] = [];
  let length = 0;
  for (let head = heads.shift(); head !== undefined; head = heads.shift()) {
    batch.push(JSON.parse(head.text) as RawRecord);
    length += head.text.length;
    if (length >= batchLength) {
      yield batch;
      batch = [];
      length = 0;
    }
    const { reader, order } = head;
    const next = reader.next();
    const following = next === undefined ? await headOf(reader, order) : { ...next, reader, order };
    if (following !== undefined) insert(heads, following);
  }
  yield batch;
}

async function headOf(reader: RunReader, order: number): Promise<Head | undefined> {
  for (;;) {
    const next = reader.next();
    if (next !== undefined) return { ...next, reader, order };
    if (!(await reader.fill())) return undefined;
  }
}

/** Keeps the heads in order. */
function insert(heads: Head[], head: Head): void {
  let low = 0;
  let high = heads.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = heads[middle] as Head;
    if (other.key < head.key || (other.key === head.key && other.order < head.order)) low = middle + 1;
    else high = middle;
  }
  heads.splice(low, 0, head);
}
