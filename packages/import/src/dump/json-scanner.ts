import { type ByteBuffer, byteBuffer } from "@esim-webhooks/core/kit";
import { damagedDump } from "./damage.ts";
import { readJsonBytes } from "./json-text.ts";
import type { DumpLimits } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Splitter } from "./splitter.ts";

/** Where the next value is expected. */
type Place = "top" | "array" | "page";
/** What the scanner is inside: a value of this kind, the rest of a page after its data, or nothing. */
type Within = "nothing" | "container" | "string" | "token" | "page_rest";

const quote = 0x22;
const backslash = 0x5c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const comma = 0x2c;
const dataKey = Buffer.from("data");

/**
 * Finds the records in JSON of any layout: the elements of arrays, the `data` of pages, and consecutive objects. A top-level
 * object with an array `data` is a page. Holds one record in memory, never the whole dump.
 * @param start the offset of the first byte
 * @param line the line number, if all the JSON is on one line
 */
export function createJsonScanner(
  records: Recorder,
  { maxRecordBytes, maxDepth }: DumpLimits,
  start: number,
  line?: number,
): Splitter {
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
  // how many bytes of the current string match the key `data`, in a top-level object; -1: it is another string
  let matched = -1;

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
    matched = -1;
  }

  function keep(bytes: Buffer): void {
    if (!fits || within === "page_rest") return;
    kept ??= byteBuffer(maxRecordBytes);
    fits = kept.add(Buffer.from(bytes)); // a copy: the chunk may be its reader's buffer
    if (!fits) kept = undefined;
  }

  /** The whole value; undefined if it is too large. */
  function whole(last: Buffer): Buffer | undefined {
    if (kept !== undefined) keep(last);
    else if (last.byteLength <= maxRecordBytes && fits) return last;
    return kept && Buffer.from(kept.bytes());
  }

  function finish(last: Buffer): void {
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
      }
      place = "top";
      return index + 1;
    }
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

  /** Reads on in the current value, from `index`. Returns the index after the value, or the end of the bytes. */
  function inside(bytes: Buffer, index: number, from: number): number {
    const end =
      within === "token"
        ? endOfToken(bytes, index)
        : within === "string"
          ? endOfString(bytes, index)
          : endOfContainer(bytes, index);
    if (end === -1) keep(bytes.subarray(from));
    else if (within === "page_rest") within = "nothing";
    else if (within !== "nothing") finish(bytes.subarray(from, end));
    return end === -1 ? bytes.byteLength : end;
  }

  function endOfContainer(bytes: Buffer, index: number): number {
    const length = bytes.byteLength;
    const mayBePage = place === "top" && within === "container" && bytes[index] !== openArray;
    for (let i = index; i < length; i++) {
      if (inString) {
        i = endOfString(bytes, i, mayBePage && depth === 1);
        if (i === -1) return -1;
        i--;
        continue;
      }
      const byte = bytes[i] as number;
      if (byte === quote) {
        inString = true;
        matched = 0;
      } else if (byte === openObject || byte === openArray) {
        if (byte === openArray && depth === 1 && mayBePage && matched === dataKey.byteLength) {
          place = "page";
          within = "nothing";
          return i + 1;
        }
        if (depth < closing.byteLength) closing[depth] = byte + 2;
        depth++;
        if (depth > deepest) deepest = depth;
      } else if (byte === closeObject || byte === closeArray) {
        depth--;
        if (depth < closing.byteLength && closing[depth] !== byte) throw wrongBracket(i);
        if (depth === 0) return i + 1;
      }
    }
    return -1;
  }

  /** The index after the string's closing quote, or -1. */
  function endOfString(bytes: Buffer, index: number, matching = false): number {
    const length = bytes.byteLength;
    for (let i = index; i < length; i++) {
      const byte = bytes[i] as number;
      if (escaped) {
        escaped = false;
      } else if (byte === quote) {
        inString = false;
        if (!matching) matched = -1;
        return i + 1;
      } else if (byte === backslash) {
        escaped = true;
      }
      if (matching) matched = matched !== -1 && dataKey[matched] === byte ? matched + 1 : -1;
    }
    return -1;
  }

  function endOfToken(bytes: Buffer, index: number): number {
    for (let i = index; i < bytes.byteLength; i++) {
      const byte = bytes[i] as number;
      if (isSpace(byte) || isStructure(byte)) return i;
    }
    return -1;
  }

  function wrongBracket(index: number): Error {
    return damagedDump(`The JSON has a wrong closing bracket at byte ${offset + index}.`);
  }

  return {
    write(bytes) {
      for (let index = 0; index < bytes.byteLength; ) {
        const from = index;
        if (within === "nothing") index = between(bytes, index);
        if (within !== "nothing") index = inside(bytes, index, from);
      }
      offset += bytes.byteLength;
    },
    end() {
      if (within === "token") finish(Buffer.alloc(0));
      if (within !== "nothing" || place !== "top") {
        throw damagedDump(`The JSON ends inside a record or an array, at byte ${offset}.`);
      }
    },
  };
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isStructure(byte: number): boolean {
  return (
    byte === comma ||
    byte === quote ||
    byte === openArray ||
    byte === closeArray ||
    byte === openObject ||
    byte === closeObject
  );
}
