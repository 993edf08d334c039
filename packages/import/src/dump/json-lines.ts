import { isUtf8 } from "node:buffer";
import { byteBuffer } from "@esim-webhooks/core/internal";
import { createJsonScanner } from "./json-scanner.ts";
import type { DumpLimits, Recorder, Splitter } from "./record.ts";
import { isPage, type JsonReading, readJsonBytes, readJsonText } from "./record.ts";

/**
 * Reads NDJSON: each line is a record, a page, or an array of records. A damaged line does not affect the others.
 * @param start the offset of the first byte
 * @param newline the byte that ends a line
 */
export function createJsonLines(
  records: Recorder,
  limits: DumpLimits,
  start: number,
  newline: number,
): Splitter {
  let line = 1;
  let offset = start; // of the line
  // for a line that continues in the next chunk: its bytes, or a scanner once it is longer than a record may be
  let kept = byteBuffer(limits.maxRecordBytes);
  let long: Splitter | undefined;
  let length = 0;

  function readLine(whole: Buffer, readJson: ReadJson): void {
    const bytes = withoutMark(whole);
    const text = bytes.toString("utf8");
    const isDeep = mayBeDeep(text, limits.maxDepth);
    const reading = isDeep ? undefined : readJson(bytes, text);
    if (!reading || isList(reading)) scanLine(bytes, text);
    else if ("value" in reading) records.value(reading.value, offset, line);
    else if (text.trim() !== "") records.fault(reading.fault, reading.reason, { offset, line, text });
  }

  /** Finds the records inside the line. After broken JSON, the rest of the line is one fault. */
  function scanLine(bytes: Buffer, text: string): void {
    const scanner = createJsonScanner(records, limits, offset, line);
    try {
      scanner.write(bytes);
      scanner.end();
    } catch {
      records.fault("not_json", "not JSON", { offset, line, text });
    }
  }

  /** As `scanLine`, for a line that is too long to keep. */
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

  function endLine(last: Buffer, readJson: ReadJson): void {
    if (length === 0 && last.byteLength <= limits.maxRecordBytes) {
      if (last.byteLength > 0) readLine(last, readJson);
      offset += last.byteLength + 1;
    } else {
      keepOn(last);
      if (length <= limits.maxRecordBytes) readLine(Buffer.from(kept.bytes()), readJsonBytes);
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
      endLine(bytes.subarray(0, from), readJsonBytes);
      from++;
      const last = bytes.lastIndexOf(newline);
      const isText = isUtf8(bytes.subarray(from, Math.max(from, last)));
      const readJson = isText ? readCheckedJson : readJsonBytes;
      for (let end = bytes.indexOf(newline, from); end !== -1; end = bytes.indexOf(newline, from)) {
        endLine(bytes.subarray(from, end), readJson);
        from = end + 1;
      }
      keepOn(bytes.subarray(from));
    },
    end() {
      if (length > 0) endLine(Buffer.alloc(0), readJsonBytes);
    },
    gap() {
      if (length === 0) return;
      endLine(Buffer.alloc(0), readJsonBytes);
      offset--; // there is no line end
    },
    cut() {
      try {
        const scanner = long ?? createJsonScanner(records, limits, offset, line);
        if (length <= limits.maxRecordBytes) scanner.write(Buffer.from(kept.bytes()));
        scanner.cut?.();
      } catch {
        // the input has failed before this call: its error is reported, and this one is not
      }
    },
  };
}

type ReadJson = (bytes: Buffer, text: string) => JsonReading;

/** Reads a line of bytes that are known to be UTF-8. */
const readCheckedJson: ReadJson = (_bytes, text) => readJsonText(text);

/** A line without what may be before its record: a byte order mark of a joined file, RS (RFC 7464), or zeros that fill a file up. */
function withoutMark(line: Buffer): Buffer {
  if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) return line.subarray(3);
  let from = 0;
  while (line[from] === 0x1e || line[from] === 0) from++;
  return line.subarray(from);
}

/** Whether the text has more than `maxDepth` opening brackets. Cheap: computing the depth would cost a third of the time. */
function mayBeDeep(text: string, maxDepth: number): boolean {
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) {
      if (++brackets > maxDepth) return true;
    }
  }
  return false;
}

/** Whether a line is an array or a page, or looks like a damaged one, which may still contain whole records. */
function isList(reading: JsonReading): boolean {
  return "value" in reading ? isPage(reading.value) : /^\s*\[|"data"\s*:\s*\[/.test(reading.text);
}
