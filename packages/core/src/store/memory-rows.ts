/**
 * Claims and done marks as rows of numbers: 32 bytes each. As objects they would take twice as much, and time at every garbage
 * collection. A row's number is the caller's to keep.
 */
export interface MemoryRows {
  /** Adds a claim. Returns the number of its row. */
  add(token: number, endsAt: number, fingerprint: number | undefined): number;
  /** Gives a row up, for the next to be added. */
  free(row: number): void;
  token(row: number): number;
  /** The end of the lease or of the retention. */
  endsAt(row: number): number;
  isDone(row: number): boolean;
  /** Whether this is the fingerprint of another body, as far as both are known. */
  isOther(row: number, fingerprint: number | undefined): boolean;
  extend(row: number, endsAt: number): void;
  markDone(row: number, endsAt: number): void;
}

const width = 4;
/** The places in a row. A fingerprint that is not known is NaN. */
const tokenAt = 0;
const endsAtAt = 1;
const fingerprintAt = 2;
const isDoneAt = 3;

export function createMemoryRows(): MemoryRows {
  let numbers = new Float64Array(256 * width);
  let used = 0;
  const freed: number[] = [];
  const read = (row: number, place: number) => numbers[row * width + place] as number;
  const write = (row: number, place: number, value: number) => {
    numbers[row * width + place] = value;
  };

  function nextRow(): number {
    const row = freed.pop();
    if (row !== undefined) return row;
    if (used * width === numbers.length) {
      const shorter = numbers;
      numbers = new Float64Array(2 * shorter.length);
      numbers.set(shorter);
    }
    return used++;
  }

  return {
    add(token, endsAt, fingerprint = Number.NaN) {
      const row = nextRow();
      write(row, tokenAt, token);
      write(row, endsAtAt, endsAt);
      write(row, fingerprintAt, fingerprint);
      write(row, isDoneAt, 0);
      return row;
    },
    free: (row) => void freed.push(row),
    token: (row) => read(row, tokenAt),
    endsAt: (row) => read(row, endsAtAt),
    isDone: (row) => read(row, isDoneAt) === 1,
    isOther(row, fingerprint) {
      const kept = read(row, fingerprintAt);
      return fingerprint !== undefined && !Number.isNaN(kept) && fingerprint !== kept;
    },
    extend: (row, endsAt) => write(row, endsAtAt, endsAt),
    markDone(row, endsAt) {
      write(row, endsAtAt, endsAt);
      write(row, isDoneAt, 1);
    },
  };
}
