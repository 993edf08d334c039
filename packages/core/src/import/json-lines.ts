import { isUtf8 } from "node:buffer";
import { bodyBuffer } from "../body.ts";
import { createJsonScanner } from "./json-scanner.ts";
import { isPage, type JsonReading, readJsonBytes, readJsonText } from "./json-text.ts";
import type { DumpLimits } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Splitter } from "./splitter.ts";

const newline = 0x0a;

/**
 * Reads JSON of which each line is a record, a page, or an array of records. What is wrong with a line stays within it.
 * @param start the offset of the first byte
 */
export function createJsonLines(records: Recorder, limits: DumpLimits, start: number): Splitter {
  let line = 1;
  let offset = start; // of the line
  // of the line that goes on in the next chunk: its bytes, or its scanner where it is longer than a record may be
  let kept = bodyBuffer(limits.maxRecordBytes);
  let long: Splitter | undefined;
  let length = 0;

  function readLine(bytes: Buffer, known: boolean): void {
    if (!known && !isUtf8(bytes)) {
      const text = bytes.toString("utf8");
      if (text.trim() !== "") records.fault("not_json", "not UTF-8", { offset, line, text });
      return;
    }
    const text = bytes.toString("utf8");
    const reading = mayBeDeep(text, limits.maxDepth) ? undefined : readJsonText(text);
    if (!reading) scanLine(bytes);
    else if ("value" in reading && !isPage(reading.value)) records.value(reading.value, offset, line);
    else if ("value" in reading || isList(reading)) scanLine(bytes);
    else if (text.trim() !== "") records.fault(reading.fault, reading.reason, { offset, line, text });
  }

  /** A list in a line: its elements are the records. */
  function scanLine(bytes: Buffer): void {
    const scanner = createJsonScanner(records, limits, offset, line);
    within(() => {
      scanner.write(bytes);
      scanner.end();
    }, bytes);
  }

  function within(read: () => void, bytes?: Buffer): boolean {
    try {
      read();
      return true;
    } catch {
      const at = { offset, line };
      if (bytes) records.fault("not_json", "not JSON", { ...at, text: bytes.toString("utf8") });
      else records.fault("too_large", `longer than ${limits.maxRecordBytes} bytes, and not JSON`, at);
      return false;
    }
  }

  function keepOn(bytes: Buffer): void {
    if (bytes.byteLength === 0) return;
    const before = length;
    length += bytes.byteLength;
    if (before <= limits.maxRecordBytes) {
      if (kept.add(Buffer.from(bytes))) return;
      const scanner = createJsonScanner(records, limits, offset, line);
      long = scanner;
      scanLong(Buffer.from(kept.bytes().subarray(0, before)));
    }
    scanLong(bytes);
  }

  function scanLong(bytes: Buffer): void {
    const scanner = long;
    if (scanner && !within(() => scanner.write(bytes))) long = undefined;
  }

  function endLine(bytes: Buffer, known: boolean): void {
    if (length === 0 && bytes.byteLength <= limits.maxRecordBytes) {
      if (bytes.byteLength > 0) readLine(bytes, known);
      offset += bytes.byteLength + 1;
    } else {
      keepOn(bytes);
      if (length <= limits.maxRecordBytes) readLine(Buffer.from(kept.bytes()), false);
      else if (long) within(long.end);
      offset += length + 1;
      kept = bodyBuffer(limits.maxRecordBytes);
      long = undefined;
      length = 0;
    }
    line++;
  }

  return {
    write(bytes) {
      let from = bytes.indexOf(newline);
      if (from === -1) return keepOn(bytes);
      endLine(bytes.subarray(0, from), false);
      from++;
      const last = bytes.lastIndexOf(newline);
      const known = isUtf8(bytes.subarray(from, Math.max(from, last)));
      for (let end = bytes.indexOf(newline, from); end !== -1; end = bytes.indexOf(newline, from)) {
        endLine(bytes.subarray(from, end), known);
        from = end + 1;
      }
      keepOn(bytes.subarray(from));
    },
    end() {
      if (length > 0) endLine(Buffer.alloc(0), false);
    },
    cut() {
      // an object is whole or no JSON: nothing shorter of it is any
      const reading = length > limits.maxRecordBytes ? undefined : readJsonBytes(Buffer.from(kept.bytes()));
      if (reading && "value" in reading) endLine(Buffer.alloc(0), false);
    },
  };
}

/** What is deeper than this has as many opening brackets. Counting depth itself would cost a third of the time. */
function mayBeDeep(text: string, maxDepth: number): boolean {
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) {
      if (++brackets > maxDepth) return true;
    }
  }
  return false;
}

function isList(reading: JsonReading): boolean {
  return "fault" in reading && reading.text.trimStart().startsWith("[");
}
