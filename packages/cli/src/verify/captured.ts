import type { HeaderSource } from "@esim-webhooks/core";
import { ProgramError } from "../program/program-error.ts";

/** A request as something on its way has written it down. */
export interface Captured {
  readonly headers: HeaderSource;
  /** What the body may have been, the likeliest first: a text can be the body, or base64 of it. */
  readonly bodies: readonly Uint8Array[];
  /** The bytes are a guess: the body was written down as parsed JSON. */
  readonly rebuilt: boolean;
  readonly receivedAt: Date | undefined;
}

/** Reads `{ headers, body, receivedAt }` in JSON, or the text of an HTTP request. Throws `invalid_usage`. */
export function readCaptured(bytes: Buffer): Captured {
  return bytes.toString("utf8").trimStart().startsWith("{") ? readJson(bytes) : readHttp(bytes);
}

function readJson(bytes: Buffer): Captured {
  const { headers, body, receivedAt, isBase64Encoded } = parse(bytes);
  if (typeof headers !== "object" || headers === null || Array.isArray(headers) || body === undefined) {
    throw notCaptured("It is JSON without headers and body.");
  }
  return {
    headers: headers as HeaderSource,
    bodies: bodiesOf(body, isBase64Encoded === true),
    rebuilt: typeof body === "object",
    receivedAt: timeOf(receivedAt),
  };
}

function parse(bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
  } catch {
    throw notCaptured("It begins like JSON and is none."); // the parser's own message quotes it
  }
}

function bodiesOf(body: unknown, isBase64: boolean): Uint8Array[] {
  if (typeof body !== "string") return [Buffer.from(JSON.stringify(body))];
  const decoded = Buffer.from(body, "base64");
  if (isBase64) return [decoded];
  const mayBeBase64 = body !== "" && /^[A-Za-z0-9+/]+={0,2}$/.test(body);
  return mayBeBase64 ? [decoded, Buffer.from(body)] : [Buffer.from(body)];
}

function timeOf(receivedAt: unknown): Date | undefined {
  if (receivedAt === undefined || receivedAt === null) return undefined;
  const time = new Date(receivedAt as string | number);
  if (!Number.isNaN(time.getTime())) return time;
  throw notCaptured("Its receivedAt is no date-time.");
}

/** A request line or not, header lines, an empty line, and the rest is the body. */
function readHttp(bytes: Buffer): Captured {
  const text = bytes.toString("latin1"); // a character for a byte, so that positions are the same
  const end = /\r?\n\r?\n/.exec(text);
  const head = text.slice(0, end?.index ?? text.length).trim();
  const headers: Record<string, string[]> = {};
  for (const [, name = "", value = ""] of head.matchAll(/^([!#$%&'*+.^\w`|~-]+):[ \t]*(.*?)[ \t\r]*$/gm)) {
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  if (end === null || Object.keys(headers).length === 0) throw notCaptured("It is neither JSON nor HTTP.");
  return {
    headers,
    bodies: [bytes.subarray(end.index + end[0].length)],
    rebuilt: false,
    receivedAt: undefined,
  };
}

function notCaptured(problem: string): ProgramError {
  return new ProgramError(
    "invalid_usage",
    `This is no captured request. ${problem}`,
    'Give { "headers": {…}, "body": "…", "receivedAt": "…" }, or the text of the HTTP request.',
  );
}
