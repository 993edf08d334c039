import { isUtf8 } from "node:buffer";
import { byteBuffer } from "@esim-webhooks/core/kit";
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
  let kept = byteBuffer(limits.maxRecordBytes);
  let long: Splitter | undefined;
  let length = 0;

  function readLine(bytes: Buffer, isText: boolean): void {
    const text = bytes.toString("utf8");
    const isDeep = mayBeDeep(text, limits.maxDepth);
    const reading = isDeep ? undefined : isText ? readJsonText(text) : readJsonBytes(bytes);
    if (!reading || isList(reading)) scanLine(bytes, text);
    else if ("value" in reading) records.value(reading.value, offset, line);
    else if (text.trim() !== "") records.fault(reading.fault, reading.reason, { offset, line, text });
  }

  /** Finds the records within the line. Where its structure is lost, the rest of it is one fault. */
  function scanLine(bytes: Buffer, text: string): void {
    const scanner = createJsonScanner(records, limits, offset, line);
    try {
      scanner.write(bytes);
      scanner.end();
    } catch {
      records.fault("not_json", "not JSON", { offset, line, text });
    }
  }

  /** The same for a line that is not kept, since it is longer than a record may be. */
  function scanOn(step: (scanner: Splitter) => void): void {
    try {
      if (long) step(long);
    } catch {
      long = undefined;
      const reason = `longer than ${limits.maxRecordBytes} bytes, and not JSON`;
      records.fault("too_large", reason, { offset, line });
    }
  }

  function keepOn(bytes: Buffer): void {
    if (bytes.byteLength === 0) return;
    const before = length;
    length += bytes.byteLength;
    if (before <= limits.maxRecordBytes) {
      if (kept.add(Buffer.from(bytes))) return; // a copy: the chunk may be its reader's buffer
      long = createJsonScanner(records, limits, offset, line);
      scanOn((scanner) => scanner.write(Buffer.from(kept.bytes())));
    }
    scanOn((scanner) => scanner.write(bytes));
  }

  function endLine(last: Buffer, isText: boolean): void {
    if (length === 0 && last.byteLength <= limits.maxRecordBytes) {
      if (last.byteLength > 0) readLine(last, isText);
      offset += last.byteLength + 1;
    } else {
      keepOn(last);
      if (length <= limits.maxRecordBytes) readLine(Buffer.from(kept.bytes()), false);
      else scanOn((scanner) => scanner.end());
      offset += length + 1;
      kept = byteBuffer(limits.maxRecordBytes);
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
      const isText = isUtf8(bytes.subarray(from, Math.max(from, last)));
      for (let end = bytes.indexOf(newline, from); end !== -1; end = bytes.indexOf(newline, from)) {
        endLine(bytes.subarray(from, end), isText);
        from = end + 1;
      }
      keepOn(bytes.subarray(from));
    },
    end() {
      if (length > 0) endLine(Buffer.alloc(0), false);
    },
    cut() {
      if (length > limits.maxRecordBytes) return; // its records are out already
      try {
        createJsonScanner(records, limits, offset, line).write(Buffer.from(kept.bytes()));
      } catch {
        // that the dump ends here is what is said of it
      }
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

/** Whether a line is a list or a page, or seems to be one that is damaged, whose other records may be whole. */
function isList(reading: JsonReading): boolean {
  return "value" in reading ? isPage(reading.value) : /^\s*\[|"data"\s*:\s*\[/.test(reading.text);
}
