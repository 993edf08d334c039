/**
 * The rows of `memoryStore`: claims and done marks, in a linked list of numbers, of 41 bytes each. As objects they would take twice the memory,
 * and time at every garbage collection. A `Map` keeps an order too, but finding its first entry takes longer the more entries were deleted.
 */
export interface MemoryRows {
  /** Adds a claim at the end. Returns the number of its row. */
  add(name: string, token: number, endsAt: number, fingerprint: number | undefined): number;
  /** Removes a row. Its number is used again for a row that is added later. */
  remove(row: number): void;
  moveToEnd(row: number): void;
  /** The first row of the list; `none` if the list is empty. */
  first(): number;
  name(row: number): string;
  token(row: number): number;
  /** The end of the lease or of the retention. */
  endsAt(row: number): number;
  isDone(row: number): boolean;
  /** Whether this fingerprint differs from that of the row. False if one of them is unknown. */
  isOther(row: number, fingerprint: number | undefined): boolean;
  extend(row: number, endsAt: number): void;
  markDone(row: number, endsAt: number): void;
}

/** No row. In the links, it is before the first row and after the last. */
export const none = 0;

export function createMemoryRows(): MemoryRows {
  const names = [""];
  let numbers = columnsOf(256);
  let used = 1;
  let firstFree = none; // free rows are linked by `next`

  function takeRow(): number {
    const row = firstFree;
    if (row !== none) {
      firstFree = numbers.next[row] as number;
      return row;
    }
    if (used === numbers.next.length) numbers = columnsOf(2 * used, numbers);
    return used++;
  }

  function link(before: number, after: number): void {
    numbers.next[before] = after;
    numbers.previous[after] = before;
  }

  function unlink(row: number): void {
    link(numbers.previous[row] as number, numbers.next[row] as number);
  }

  function linkAtEnd(row: number): void {
    link(numbers.previous[none] as number, row);
    link(row, none);
  }

  return {
    add(name, token, endsAt, fingerprint = Number.NaN) {
      const row = takeRow();
      names[row] = name;
      numbers.token[row] = token;
      numbers.endsAt[row] = endsAt;
      numbers.fingerprint[row] = fingerprint;
      numbers.isDone[row] = 0;
      linkAtEnd(row);
      return row;
    },
    remove(row) {
      unlink(row);
      names[row] = "";
      numbers.next[row] = firstFree;
      firstFree = row;
    },
    moveToEnd(row) {
      unlink(row);
      linkAtEnd(row);
    },
    first: () => numbers.next[none] as number,
    name: (row) => names[row] as string,
    token: (row) => numbers.token[row] as number,
    endsAt: (row) => numbers.endsAt[row] as number,
    isDone: (row) => numbers.isDone[row] === 1,
    isOther(row, fingerprint) {
      const kept = numbers.fingerprint[row] as number;
      return fingerprint !== undefined && !Number.isNaN(kept) && fingerprint !== kept;
    },
    extend(row, endsAt) {
      numbers.endsAt[row] = endsAt;
    },
    markDone(row, endsAt) {
      numbers.endsAt[row] = endsAt;
      numbers.isDone[row] = 1;
    },
  };
}

/** The columns of the rows. A fingerprint that is not known is NaN. */
interface Columns {
  readonly token: Float64Array;
  readonly endsAt: Float64Array;
  readonly fingerprint: Float64Array;
  readonly isDone: Uint8Array;
  readonly next: Uint32Array;
  readonly previous: Uint32Array;
}

function columnsOf(rows: number, shorter?: Columns): Columns {
  const columns: Columns = {
    token: new Float64Array(rows),
    endsAt: new Float64Array(rows),
    fingerprint: new Float64Array(rows),
    isDone: new Uint8Array(rows),
    next: new Uint32Array(rows),
    previous: new Uint32Array(rows),
  };
  if (shorter) for (const name of Object.keys(columns) as (keyof Columns)[]) columns[name].set(shorter[name]);
  return columns;
}
