import type { ByteSource } from "./byte-source.ts";
import { type CsvHeader, csvHeader } from "./csv.ts";
import { harStart } from "./har.ts";
import { isPage } from "./record.ts";

/** The format of bytes, detected from their content. */
export type Recognised = Packing | Utf16 | TextForm | Unknown | { readonly form: "empty" };

export interface Packing {
  readonly form: "gzip" | "zstd" | "zip";
}

/** Text in UTF-16, with or without a byte order mark. */
export interface Utf16 {
  readonly form: "utf-16le" | "utf-16be";
}

export function isUtf16(recognised: Packing | Utf16 | TextForm): recognised is Utf16 {
  return recognised.form === "utf-16le" || recognised.form === "utf-16be";
}

export function isPacking(recognised: Packing | TextForm): recognised is Packing {
  return recognised.form === "gzip" || recognised.form === "zstd" || recognised.form === "zip";
}

/** Text with records. `start` is its offset, after a byte order mark, or the beginning of a HAR file. `newline` is the byte that ends a line. */
export type TextForm = { readonly start: number; readonly newline: number } & (
  | { readonly form: JsonLayout | "har" }
  | { readonly form: "csv"; readonly header: CsvHeader }
);

/** Bytes of no known format, with their likely format and a remedy. */
export interface Unknown {
  readonly form: "unknown";
  readonly seems: string;
  readonly remedy: string;
}

// enough for dozens of records, and for the first line of most dumps
const headBytes = 64 * 1024;
// a line longer than this is not needed to detect the format
const longestHead = 1024 * 1024;

/** Detects the format from the first bytes. Takes only the byte order mark of UTF-8 and the beginning of a HAR file from the source. */
export async function recognise(source: ByteSource): Promise<Recognised> {
  const magic = await source.peek(4);
  const packing = packingOf(magic);
  if (packing !== undefined) return { form: packing };
  const start = isByteOrderMark(magic) ? 3 : 0;
  await source.take(start);
  const { head, isWhole } = await firstLines(source);
  if (isUtf32(magic)) return unknown("text in UTF-32", "Convert it first: `iconv -f UTF-32 -t UTF-8`.");
  const utf16 = utf16Form(magic);
  if (utf16 !== undefined) return { form: utf16 };
  const kind = binaryKind(isWhole ? withoutZeros(head) : head);
  if (kind) return unknown(kind, packings);
  const text = head.toString("utf8");
  const log = harStart(text);
  if (log === undefined) return recogniseText(text, isWhole, start);
  await source.take(log);
  return { form: "har", start: start + log, newline: 0x0a };
}

/** Returns the packing that begins with these bytes: gzip by its first two, the others by four. */
export function packingOf(head: Buffer): Packing["form"] | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  if (head.byteLength < 4) return undefined;
  const magic = head.readUInt32LE(0);
  if (magic === 0xfd2fb528 || magic >>> 4 === 0x184d2a5) return "zstd"; // a frame, or a skippable one
  return magic === 0x04034b50 || magic === 0x06054b50 ? "zip" : undefined; // an entry, or the end of an empty archive
}

async function firstLines(source: ByteSource): Promise<{ head: Buffer; isWhole: boolean }> {
  for (let size = headBytes; ; size *= 2) {
    const head = await source.peek(size);
    const isWhole = head.byteLength < size;
    if (isWhole || size >= longestHead || /[\r\n]./s.test(head.toString("latin1"))) return { head, isWhole };
  }
}

function recogniseText(head: string, isWhole: boolean, start: number): Recognised {
  // Excel for Mac ends lines with CR alone, and writes LF inside a cell
  const isCr = /^[^\r\n]+\r+(?![\r\n])/.test(head.trimStart());
  const newline = isCr ? 0x0d : 0x0a;
  const text = (isCr ? head.replaceAll("\r", "\n") : head).replaceAll("\x1e", " ").replaceAll("\0", " ");
  const header = csvHeader(text);
  if (header?.isNamed) return { form: "csv", start, newline, header };
  const first = text.trimStart()[0];
  if (first === undefined && isWhole) return { form: "empty" };
  const layout = jsonLayout(text, isWhole);
  if (layout === "ndjson" || first === undefined || first === "{" || first === "[")
    return { form: layout, start, newline };
  if (header) return { form: "csv", start, newline, header };
  return unknown(first === "<" ? "HTML or XML" : "text that is neither JSON nor CSV with a header", forms);
}

const forms =
  "A dump is NDJSON, a JSON array, pages of the deliveries listing, a HAR file, or CSV with a header.";
const packings = "A dump is text, plain or packed with gzip, zstd or ZIP: unpack or convert it first.";

function unknown(seems: string, remedy: string): Unknown {
  return { form: "unknown", seems, remedy };
}

function isByteOrderMark(head: Buffer): boolean {
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
}

/** Detects UTF-16 by its byte order mark, or by the zeros in ASCII characters. */
function utf16Form([a, b, c, d]: Buffer): Utf16["form"] | undefined {
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  const hasZeros = (a === 0) !== (b === 0) && (a === 0) === (c === 0) && (b === 0) === (d === 0);
  if (!hasZeros) return undefined;
  return a === 0 ? "utf-16be" : "utf-16le";
}

function isUtf32([a, b, c, d]: Buffer): boolean {
  const isMarked = (a === 0xff && b === 0xfe && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0xfe);
  return isMarked || (a !== 0 && b === 0 && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0 && d !== 0);
}

/** Bytes without the zeros that fill a file up; all bytes if there are no others. */
function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.byteLength;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end === 0 ? bytes : bytes.subarray(0, end);
}

/** Whether there are many control characters. Damaged text may contain a few, and NUL or RS may separate records of JSON. */
function isBinary(head: Buffer): boolean {
  const start = head.subarray(0, 4096);
  let controls = 0;
  for (const [i, byte] of start.entries()) {
    const isBetween = (byte === 0x1e && start[i + 1] === 0x7b) || (byte === 0 && start[i - 1] === 0x7d);
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && !isBetween) controls++;
  }
  return controls > 1 + start.byteLength / 32;
}

const kinds: readonly (readonly [magic: string, at: number, kind: string])[] = [
  ["ustar", 257, "a tar archive"],
  ["\xfd7zXZ", 0, "packed with xz"],
  ["BZh", 0, "packed with bzip2"],
  ["7z\xbc\xaf", 0, "a 7z archive"],
  ["Rar!", 0, "a RAR archive"],
  ["\x04\x22\x4d\x18", 0, "packed with lz4"],
  ["PGDMP", 0, "a dump of a Postgres database"],
  ["SQLite", 0, "an SQLite database"],
  ["PAR1", 0, "a Parquet file"],
  ["%PDF", 0, "a PDF"],
];

function binaryKind(head: Buffer): string | undefined {
  const text = head.toString("latin1", 0, 512);
  return (
    kinds.find(([magic, at]) => text.startsWith(magic, at))?.[2] ??
    (isBinary(head) ? "binary data" : undefined)
  );
}

/** The layout of JSON: one value per line, or any other. */
export type JsonLayout = "ndjson" | "json";

// enough lines to decide, and cheap to parse
const examinedLines = 16;

/**
 * Detects the layout from the first lines, some of which may be damaged. A value on several lines means `"json"`.
 * @param head the first lines
 * @param isWhole whether these are all lines
 */
function jsonLayout(head: string, isWhole: boolean): JsonLayout {
  const all = head.split("\n");
  if (!isWhole) all.pop(); // it may be incomplete
  const lines = all.filter((line) => line.trim() !== "");
  const whole = lines.slice(0, examinedLines).map(isJson);
  const first = whole.indexOf(false);
  if (first === -1) return lines.length > 1 || holdsRecord(lines[0]) ? "ndjson" : "json";
  if (beginsMultilineValue(lines.slice(first))) return "json";
  return whole[0] || whole.filter(Boolean).length * 2 > whole.length ? "ndjson" : "json";
}

/** Whether the only line may be a record: it is neither an array nor a page. */
function holdsRecord(line = "[]"): boolean {
  const value: unknown = JSON.parse(line);
  return !Array.isArray(value) && !isPage(value);
}

/** Whether the lines begin with a value that spans several lines, with only its closing bracket on the last one. */
function beginsMultilineValue(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  const end = endOfValue(text);
  const beginOfLine = text.lastIndexOf("\n", end) + 1;
  const [lastLine = ""] = text.slice(beginOfLine).split("\n", 1);
  return beginOfLine > 0 && /^\s*[\]}]\s*$/.test(lastLine) && isJson(text.slice(0, end + 1));
}

/** The index of the bracket that closes the first one, or -1. */
function endOfValue(text: string): number {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (inString && character === "\\") i++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === "[" || character === "{") depth++;
    else if ((character === "]" || character === "}") && --depth <= 0) return i;
  }
  return -1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
