/** A text with its sort key. */
export interface Keyed {
  readonly key: number;
  readonly text: string;
}

/** Texts in one buffer that is reused: as strings, they would fill the heap faster than it is collected. */
export interface Entries {
  add(key: number, text: string): void;
  bytes(): number;
  /** The entries as bytes, sorted by key; those with the same key in the order they were added. Valid until `clear`. */
  sorted(): Generator<Uint8Array>;
  clear(): void;
}

const headerBytes = 12; // the key as a double, and the length of the text
const firstBytes = 64 * 1024;

export function createEntries(): Entries {
  let buffer = Buffer.allocUnsafeSlow(firstBytes);
  let length = 0;
  let keys: number[] = [];
  let begins: number[] = [];

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.byteLength) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * buffer.byteLength, length + bytes));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  }

  return {
    add(key, text) {
      const textBytes = Buffer.byteLength(text);
      reserve(headerBytes + textBytes);
      keys.push(key);
      begins.push(length);
      buffer.writeDoubleLE(key, length);
      buffer.writeUInt32LE(textBytes, length + 8);
      buffer.write(text, length + headerBytes, "utf8");
      length += headerBytes + textBytes;
    },
    bytes: () => length,
    *sorted() {
      const order = Uint32Array.from(keys.keys());
      const keyOf = (index: number) => keys[index] ?? Number.NEGATIVE_INFINITY;
      order.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : a - b));
      for (const index of order) yield buffer.subarray(begins[index], begins[index + 1] ?? length);
    },
    clear() {
      length = 0;
      keys = [];
      begins = [];
    },
  };
}

/** Reads the whole entries in these bytes. */
export function entryReader(bytes: Buffer): {
  next(): Keyed | undefined;
  /** The bytes that `next` has not read. */
  rest(): Buffer;
  /** How many more bytes the next entry needs, at least; 0 or less when it is whole. */
  missing(): number;
} {
  let at = 0;

  function missing(): number {
    const left = bytes.byteLength - at;
    return left < headerBytes ? headerBytes - left : headerBytes + bytes.readUInt32LE(at + 8) - left;
  }

  return {
    next() {
      if (missing() > 0) return undefined;
      const begin = at + headerBytes;
      const end = begin + bytes.readUInt32LE(at + 8);
      const entry = { key: bytes.readDoubleLE(at), text: bytes.toString("utf8", begin, end) };
      at = end;
      return entry;
    },
    rest: () => bytes.subarray(at),
    missing,
  };
}
