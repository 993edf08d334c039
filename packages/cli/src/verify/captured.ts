import { Readable } from "node:stream";
import { WebhookError } from "@esim-webhooks/core";
import { type CapturedRequest, type RecordFault, readCapturedRequests } from "@esim-webhooks/import";
import { ProgramError } from "../program/program-error.ts";

export type Captured = Omit<CapturedRequest, "payload">;

/** Reads the text of an HTTP request, or one captured request in any form that `import` reads. Throws `invalid_usage`. */
export async function readCaptured(bytes: Buffer): Promise<Captured> {
  if (bytes.toString("latin1").trim() === "") throw notCaptured("It is empty.");
  return readHttp(bytes) ?? (await readRecord(bytes));
}

async function readRecord(bytes: Buffer): Promise<Captured> {
  const [found, another] = await firstTwo(bytes);
  if (found === undefined) throw notCaptured("It is a list with nothing in it.");
  if (another !== undefined)
    throw notCaptured("It is a list of several requests, and only one can be verified at a time.");
  if ("fault" in found) throw notCaptured(`${found.reason.charAt(0).toUpperCase()}${found.reason.slice(1)}.`);
  return found;
}

async function firstTwo(bytes: Buffer): Promise<readonly (CapturedRequest | RecordFault)[]> {
  const found: (CapturedRequest | RecordFault)[] = [];
  try {
    for await (const one of readCapturedRequests(Readable.from([bytes]))) if (found.push(one) === 2) break;
    return found;
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    const isUnknown = error.code === "unknown_dump";
    throw notCaptured(isUnknown ? "It is neither JSON nor HTTP." : "It is damaged or incomplete.");
  }
}

/** Reads header lines, with or without a request line before them, an empty line, and the body; undefined if it has none. */
function readHttp(bytes: Buffer): Captured | undefined {
  const text = bytes.toString("latin1"); // one character per byte: positions in text and bytes are the same
  const end = /\r?\n\r?\n/.exec(text);
  const head = text.slice(0, end?.index ?? text.length).trim();
  const headers: Record<string, string[]> = {};
  for (const [, name = "", value = ""] of head.matchAll(/^([!#$%&'*+.^\w`|~-]+):[ \t]*(.*?)[ \t\r]*$/gm)) {
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  if (end === null || Object.keys(headers).length === 0) return undefined;
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
