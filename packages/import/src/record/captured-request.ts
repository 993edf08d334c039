import { isUtf8 } from "node:buffer";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { readDump } from "../dump/read-dump.ts";
import {
  type CapturedRequest,
  type Fields,
  isObject,
  isRoundedNumber,
  notARecord,
  parseNested,
  type RecordFault,
} from "./recorded-event.ts";

const mebibyte = 1024 * 1024;
const limits = {
  maxRecordBytes: 64 * mebibyte,
  maxDepth: 64,
  maxUnpackedBytes: 1024 * mebibyte,
  maxRatio: 250,
};

/**
 * Reads captured requests in every form that `importDeliveries` reads: one on its own, NDJSON, a JSON array, pages, HAR, CSV,
 * packed or not. A record is an object with `headers` (name → text or a list of texts, or a list of `[name, text]` or `{ name, value }`,
 * any of these as JSON text, or lines), `body` (text, base64, the bytes as a list of numbers or as `JSON.stringify` writes a Buffer, or parsed JSON),
 * `receivedAt` (a date-time with its offset, RFC 3339, or seconds or milliseconds since 1970; here it may be missing) and `isBase64Encoded`, which may be missing.
 *
 * Yields a request for each record, or a fault, whose reason does not quote the record. Throws `unknown_dump`, `damaged_dump` or
 * `dump_too_large` after everything that can be read. A record may have 64 MiB.
 */
export async function* readCapturedRequests(
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<CapturedRequest | RecordFault> {
  for await (const batch of readDump(input, limits).batches) {
    for (const raw of batch) {
      yield "fault" in raw
        ? { fault: raw.fault, reason: raw.reason }
        : readCapturedRequest(raw.value, limits.maxDepth);
    }
  }
}

/**
 * Reads the value of a record as a captured request, in the shapes that `readCapturedRequests` lists.
 * @param maxDepth how deeply JSON may be nested in the body, and in headers that are text
 * @returns the request, or a fault, whose reason does not quote the record
 */
export function readCapturedRequest(value: unknown, maxDepth: number): CapturedRequest | RecordFault {
  if (!isObject(value)) return notARecord("it is not an object");
  const headers = headersOf(value["headers"], maxDepth);
  if (headers === undefined)
    return notARecord(
      "its headers are not an object of texts, a list of names and texts, or lines such as Webhook-Id: msg_1",
    );
  const receivedAt = timeOf(value["receivedAt"]);
  if (typeof receivedAt === "string") return notARecord(receivedAt);
  const body = bodyBytes(value["body"], value["isBase64Encoded"] === true);
  if (body === undefined) return notARecord("its body is neither text nor an object");
  const { bytes, payload } = likeliest(body.bytes, maxDepth);
  const bodies = [bytes, ...body.bytes.filter((other) => other !== bytes)] as const;
  return { headers, bodies, payload, isGuess: body.isGuess, receivedAt };
}

const localTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/** Returns the time, null if it is missing, or a text: why it is not a time. */
function timeOf(value: unknown): Date | string | null {
  if (value === undefined || value === null || value === "") return null; // CSV has no null
  const ms = epochMs(value) ?? dateTimeMs(value);
  if (!Number.isNaN(ms)) return new Date(ms);
  if (typeof value === "string" && isRoundedNumber(value))
    return "its receivedAt is a number that a spreadsheet has rounded: export the column as text";
  return typeof value === "string" && localTime.test(value)
    ? 'its receivedAt has no offset, so it would be another time on another machine: end it with "Z" or "+01:00"'
    : 'its receivedAt is not a date-time with its offset, such as "2026-11-20T12:00:00Z", nor seconds or milliseconds since 1970';
}

const year2010 = 1_262_304_000; // in seconds
const year2100 = 4_102_444_800;

/** The milliseconds of a time in seconds or milliseconds since 1970; undefined unless its year is from 2010 to 2099. */
function epochMs(value: unknown): number | undefined {
  const isNumber = typeof value === "number" || (typeof value === "string" && /^\d+(\.\d+)?$/.test(value));
  const time = isNumber ? Number(value) : Number.NaN;
  for (const scale of [1000, 1]) {
    const ms = Math.round(time * scale);
    if (ms >= year2010 * 1000 && ms < year2100 * 1000) return ms;
  }
  return undefined;
}

/** Returns the first of these bodies that is a JSON object, else the first one without a payload: the catalog then judges the event. */
function likeliest(
  bodies: readonly [Uint8Array, ...Uint8Array[]],
  maxDepth: number,
): { readonly bytes: Uint8Array; readonly payload: Fields } {
  for (const bytes of bodies) {
    const parsed = isUtf8(bytes) ? parseNested(Buffer.from(bytes).toString("utf8"), maxDepth) : undefined;
    if (parsed !== undefined && "json" in parsed && isObject(parsed.json))
      return { bytes, payload: parsed.json };
  }
  return { bytes: bodies[0], payload: {} };
}

type Headers = Readonly<Record<string, string | readonly string[]>>;

/**
 * Headers by name in lower case, with hyphens, also where they were captured as CGI variables (`HTTP_WEBHOOK_ID`). Undefined
 * when they are not headers, or a `webhook-…` header is not text.
 */
export function headersOf(value: unknown, maxDepth: number): Headers | undefined {
  if (typeof value === "string") {
    const parsed = parseNested(value, maxDepth); // a column of CSV
    if ("json" in parsed)
      return typeof parsed.json === "string" ? undefined : headersOf(parsed.json, maxDepth);
    return headersOf(headerLines(value), maxDepth);
  }
  const list = Array.isArray(value) ? value.map(pairOf) : isObject(value) ? Object.entries(value) : undefined;
  if (!list?.every(isPair)) return undefined;
  const headers = new Map<string, string[]>();
  for (const [key, field] of list) {
    const name = key
      .toLowerCase()
      .replace(/^http_/, "")
      .replaceAll("_", "-");
    const texts = Array.isArray(field) ? field : [field];
    if (texts.every(isText)) {
      const known = headers.get(name) ?? [];
      for (const text of texts) known.push(text); // a copy for each would take seconds for a file of one header
      headers.set(name, known);
    } else if (name.startsWith("webhook-")) return undefined;
  }
  return Object.fromEntries(
    [...headers].map(([name, texts]) => [name, texts.length === 1 ? (texts[0] ?? "") : texts]),
  );
}

/** The pairs in headers as they were sent, with or without the request line; undefined when a line is not a header. */
function headerLines(text: string): readonly unknown[] | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (/^[A-Z]+ \S+ HTTP\/[\d.]+$/.test(lines[0] ?? "")) lines.shift();
  const pairs = lines.map((line) => /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(line)?.slice(1));
  if (pairs.length === 0 || pairs.includes(undefined)) return undefined;
  return pairs.map((pair) => pair?.map((part) => part.trim()));
}

/** A header as `{ name, value }`, which HAR and several proxies write, as a pair. */
function pairOf(header: unknown): unknown {
  return isObject(header) ? [header["name"], header["value"]] : header;
}

function isPair(pair: unknown): pair is readonly [string, unknown] {
  return Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** The possible bytes of a captured body. */
interface CapturedBody {
  readonly bytes: readonly [Uint8Array, ...Uint8Array[]];
  /** Whether it was captured as parsed JSON, so that its bytes are a guess. */
  readonly isGuess: boolean;
}

// for text without trailing spaces: a second part that matches spaces would make backtracking quadratic
const base64 = /^[A-Za-z0-9+/_\s-]+={0,2}$/;

/** The possible bytes of a body, the likeliest first; undefined when it is not a body. */
function bodyBytes(body: unknown, isBase64: boolean): CapturedBody | undefined {
  if (typeof body === "string") {
    const decoded = () => Buffer.from(body, "base64");
    if (isBase64) return { bytes: [decoded()], isGuess: false };
    const text = Buffer.from(body, "utf8");
    return { bytes: base64.test(body.trimEnd()) ? [text, decoded()] : [text], isGuess: false };
  }
  const list = listOf(body);
  if (list?.every(isByte)) return { bytes: [Buffer.from(list)], isGuess: false };
  if (!isObject(body)) return undefined;
  return { bytes: [Buffer.from(JSON.stringify(body), "utf8")], isGuess: true };
}

/** The numbers in a list, in the JSON of a Buffer, or in the JSON of a Uint8Array. */
function listOf(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return undefined;
  if (body["type"] === "Buffer" && Array.isArray(body["data"])) return body["data"];
  if (!Object.hasOwn(body, "0")) return undefined;
  return Object.keys(body).every((key, index) => key === String(index)) ? Object.values(body) : undefined;
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}
