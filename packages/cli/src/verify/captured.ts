import { type CapturedRequest, readCapturedRequest } from "@esim-webhooks/import";
import { ProgramError } from "../program/program-error.ts";

export type Captured = Omit<CapturedRequest, "payload">;

/** Reads a captured request: JSON, as `import` reads it, or the text of an HTTP request. Throws `invalid_usage`. */
export function readCaptured(bytes: Buffer): Captured {
  return bytes.toString("utf8").trimStart().startsWith("{") ? readJson(bytes) : readHttp(bytes);
}

function readJson(bytes: Buffer): Captured {
  const read = readCapturedRequest(parse(bytes));
  if ("fault" in read) throw notCaptured(`${read.reason.charAt(0).toUpperCase()}${read.reason.slice(1)}.`);
  return read;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw notCaptured('It starts with "{" but is not valid JSON.'); // the parser's message would quote it
  }
}

/** Reads header lines, with or without a request line before them, an empty line, and the body. */
function readHttp(bytes: Buffer): Captured {
  const text = bytes.toString("latin1"); // one character per byte: positions in text and bytes are the same
  const end = /\r?\n\r?\n/.exec(text);
  const head = text.slice(0, end?.index ?? text.length).trim();
  const headers: Record<string, string[]> = {};
  for (const [, name = "", value = ""] of head.matchAll(/^([!#$%&'*+.^\w`|~-]+):[ \t]*(.*?)[ \t\r]*$/gm)) {
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  if (end === null || Object.keys(headers).length === 0) throw notCaptured("It is neither JSON nor HTTP.");
  const bodies = [bytes.subarray(end.index + end[0].length)] as const;
  return { headers, bodies, isGuess: false, receivedAt: null };
}

function notCaptured(problem: string): ProgramError {
  return new ProgramError(
    "invalid_usage",
    `This is not a captured request. ${problem}`,
    'Give { "headers": {…}, "body": "…", "receivedAt": "…" }, or the text of an HTTP request.',
  );
}
