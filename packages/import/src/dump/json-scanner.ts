import { type ByteBuffer, byteBuffer } from "@esim-webhooks/core/internal";
import { damagedDump } from "./errors.ts";
import type { DumpLimits, Recorder, Splitter } from "./record.ts";
import { readJsonBytes } from "./record.ts";

/** Where the next value is expected. */
type Place = "top" | "array" | "page";
/** The part that the scanner is in: a value of this kind, the rest of a page after its data, or nothing. */
type Within = "nothing" | "container" | "string" | "token" | "page_rest";

const quote = 0x22;
const backslash = 0x5c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const comma = 0x2c;
const colon = 0x3a;
const recordKeys = [Buffer.from("eventId"), Buffer.from("headers")]; // the same as in `isPage` of record.ts
const longestKey = 8;
const tokenEnds: ReadonlySet<number> = new Set(Buffer.from(' \n\r\t,"[]{}'));

/**
 * Finds the records in JSON of any layout: the elements of arrays, the `data` of pages, and consecutive objects. An object
 * with an array `data` is a page unless its other keys show that it is a record; it may be in an array. Holds one record
 * in memory, or a page of that size, never the whole dump.
 * @param start the offset of the first byte
 * @param line the line number, if all the JSON is on one line
 * @param list the key of the list in a page. With `entries`, of a HAR file, a closing bracket of the file itself may follow
 */
export function createJsonScanner(
  records: Recorder,
  { maxRecordBytes, maxDepth }: DumpLimits,
  start: number,
  line?: number,
  list: "data" | "entries" = "data",
): Splitter {
  const listKey = Buffer.from(list);
  let place: Place = "top";
  let within: Within = "nothing";
  let offset = start;
  // whether a comma was read, so that an element must follow
  let isElementDue = false;

  // the current value
  let valueOffset = 0;
  let kept: ByteBuffer | undefined; // its bytes in earlier chunks
  let fits = true;
  let depth = 0;
  let deepest = 0;
  let inString = false;
  let escaped = false;
  // the closing bracket of each depth, as deep as a record may be
  const closing = new Uint8Array(maxDepth + 2);
  // the first bytes of the last string, if it is directly in an object that may be a page; otherwise the length is -1
  const key = Buffer.alloc(longestKey);
  let keyLength = -1;
  // whether that object, as far as it was read, has the list of a page, and a key that only a record has
  let hasList = false;
  let isRecord = false;

  // whether the object is being read as a page, since it has the list and no key of a record
  let isPage = false;
  // the place that contains the page
  let outer: Place = "top";

  function begin(kind: Within, index: number): void {
    within = kind;
    isElementDue = false;
    valueOffset = offset + index;
    kept = undefined;
    fits = true;
    depth = 0;
    deepest = 0;
    inString = false;
    escaped = false;
    keyLength = -1;
    hasList = false;
    isRecord = false;
  }

  function keep(bytes: Buffer): void {
    if (!fits || within === "page_rest") return;
    kept ??= byteBuffer(maxRecordBytes);
    fits = kept.add(Buffer.from(bytes)); // a copy: the chunk may be its reader's buffer
    if (fits) return;
    if (mayBePage()) readPage(bytes);
    else kept = undefined;
  }

  /** Whether the current object has the list of a page, and no key of a record so far. */
  function mayBePage(): boolean {
    return within === "container" && hasList && !isRecord;
  }

  /** Reads the current object again, up to these last bytes of it, as a page. */
  function readPage(last: Buffer): void {
    const bytes = kept === undefined ? last : Buffer.concat([kept.bytes(), last]);
    const base = offset;
    within = "nothing";
    isPage = true;
    offset = valueOffset;
    scan(bytes);
    offset = base;
  }

  function isKey(name: Buffer): boolean {
    return keyLength === name.byteLength && key.compare(name, 0, keyLength, 0, keyLength) === 0;
  }

  /** The whole value; undefined if it is too large. */
  function whole(last: Buffer): Buffer | undefined {
    if (kept !== undefined) keep(last);
    else if (last.byteLength <= maxRecordBytes && fits) return last;
    return kept && Buffer.from(kept.bytes());
  }

  function finish(last: Buffer): void {
    if (mayBePage()) {
      readPage(last);
      return;
    }
    const bytes = whole(last);
    within = "nothing";
    const at = { offset: valueOffset, line };
    const reading = bytes && deepest <= maxDepth ? readJsonBytes(bytes) : undefined;
    if (!bytes) records.fault("too_large", `longer than ${maxRecordBytes} bytes`, at);
    else if (!reading)
      records.fault("too_deep", `nested more than ${maxDepth} deep`, { ...at, text: bytes.toString("utf8") });
    else if ("value" in reading) records.value(reading.value, valueOffset, line);
    else records.fault(reading.fault, reading.reason, { ...at, text: reading.text });
  }

  /** Looks for the next value. Returns the index where to continue. */
  function between(bytes: Buffer, index: number): number {
    const byte = bytes[index] as number;
    if (isSpace(byte)) return index + 1;
    if (byte === comma) {
      if (place !== "top" && isElementDue) missingRecord(index);
      isElementDue = true;
      return index + 1;
    }
    if (byte === closeArray && place !== "top") {
      if (isElementDue) missingRecord(index);
      isElementDue = false;
      if (place === "page") {
        begin("page_rest", index);
        depth = 1;
        closing[0] = closeObject;
      } else outer = "top";
      place = outer;
      return index + 1;
    }
    if (byte === closeObject && place === "top" && list === "entries") return index + 1;
    if (byte === closeArray || byte === closeObject) throw wrongBracket(index);
    if (byte === openArray && place === "top") {
      place = "array";
      isElementDue = false;
      return index + 1;
    }
    begin(
      byte === quote ? "string" : byte === openArray || byte === openObject ? "container" : "token",
      index,
    );
    if (within === "string") inString = true;
    return index + (within === "string" ? 1 : 0);
  }

  function missingRecord(index: number): void {
    const reason = "a comma without a record";
    records.fault("not_json", reason, { offset: offset + index, line, text: "" });
  }

  /** Continues in the current value, from `index`. Returns the index after the value, or the end of the bytes. */
  function inside(bytes: Buffer, index: number, from: number): number {
    const end =
      within === "token"
        ? endOfToken(bytes, index)
        : within === "string"
          ? endOfString(bytes, index)
          : endOfContainer(bytes, index, from);
    if (end === -1) keep(bytes.subarray(from));
    else if (within === "page_rest") {
      within = "nothing";
      isPage = false;
    } else if (within !== "nothing") finish(bytes.subarray(from, end));
    return end === -1 ? bytes.byteLength : end;
  }

  function endOfContainer(bytes: Buffer, index: number, from: number): number {
    const length = bytes.byteLength;
    const watchesKeys = place !== "page" && within === "container";
    for (let i = index; i < length; i++) {
      if (inString) {
        i = endOfString(bytes, i);
        if (i === -1) return -1;
        i--;
        continue;
      }
      const byte = bytes[i] as number;
      if (byte === quote) {
        inString = true;
        keyLength = watchesKeys && depth === 1 ? 0 : -1;
      } else if (byte === colon) {
        if (depth === 1 && watchesKeys) isRecord ||= recordKeys.some(isKey);
      } else if (byte === openObject || byte === openArray) {
        if (byte === openArray && depth === 1 && watchesKeys && isObject() && isKey(listKey)) {
          hasList = true;
          if (isPage || (!fits && !isRecord)) {
            isPage = true;
            outer = place;
            place = "page";
            within = "nothing";
            return i + 1;
          }
        }
        if (depth < closing.byteLength) closing[depth] = byte + 2;
        depth++;
        if (depth > deepest) deepest = depth;
      } else if (byte === closeObject || byte === closeArray) {
        depth--;
        if (depth < closing.byteLength && closing[depth] !== byte) {
          if (!isPage && mayBePage()) readPage(bytes.subarray(from)); // for the records before the bracket
          throw wrongBracket(i);
        }
        if (depth === 0) return i + 1;
      }
    }
    return -1;
  }

  function isObject(): boolean {
    return closing[0] === closeObject;
  }

  /** The index after the string's closing quote, or -1. */
  function endOfString(bytes: Buffer, index: number): number {
    const length = bytes.byteLength;
    for (let i = index; i < length; i++) {
      const byte = bytes[i] as number;
      if (escaped) {
        escaped = false;
      } else if (byte === quote) {
        inString = false;
        return i + 1;
      } else if (byte === backslash) {
        escaped = true;
      }
      if (keyLength >= 0 && keyLength < longestKey) key[keyLength++] = byte;
    }
    return -1;
  }

  function endOfToken(bytes: Buffer, index: number): number {
    for (let i = index; i < bytes.byteLength; i++) {
      if (tokenEnds.has(bytes[i] as number)) return i;
    }
    return -1;
  }

  function wrongBracket(index: number): Error {
    return damagedDump(`The JSON has a wrong closing bracket at byte ${offset + index}.`);
  }

  function scan(bytes: Buffer): void {
    for (let index = 0; index < bytes.byteLength; ) {
      const from = index;
      if (within === "nothing") index = between(bytes, index);
      if (within !== "nothing") index = inside(bytes, index, from);
    }
  }

  /** Reads the whole records of a page whose end is missing. */
  function cut(): void {
    if (!isPage && mayBePage()) readPage(Buffer.alloc(0));
  }

  return {
    cut,
    gap() {
      if (within === "nothing") return;
      cut();
      throw damagedDump(
        `Bytes are missing inside a record of the JSON, at byte ${offset} of the unpacked text, so no record after it can be found.`,
      );
    },
    write(bytes) {
      scan(bytes);
      offset += bytes.byteLength;
    },
    end() {
      cut();
      if (within === "token") finish(Buffer.alloc(0));
      if (within !== "nothing" || place !== "top") {
        throw damagedDump(`The JSON ends inside a record or an array, at byte ${offset}.`);
      }
    },
  };
}

const spaces: ReadonlySet<number> = new Set(Buffer.from(" \n\r\t\0\x1e\ufeff"));

/** Whether the byte is white space, or is skipped like it: NUL and RS, which separate records in some files, and the byte order mark of a joined file. */
function isSpace(byte: number): boolean {
  return spaces.has(byte);
}
