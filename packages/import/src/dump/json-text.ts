import { isUtf8 } from "node:buffer";
import type { FaultCode } from "./record.ts";

/** The JSON of a record, or the fault in it. */
export type JsonReading =
  | { readonly value: object }
  | { readonly fault: FaultCode; readonly reason: string; readonly text: string };

/** Whether a value is a page of the deliveries listing: it has an array `data`, and is neither kind of record. */
export function isPage(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "eventId" in value || "headers" in value) return false;
  return Array.isArray((value as { data?: unknown }).data);
}

/** Reads the JSON of one record. */
export function readJsonText(text: string): JsonReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: "not_json", reason: jsonProblem(error), text };
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value };
  const got = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return { fault: "not_a_record", reason: `${got} where a record should be`, text };
}

export function readJsonBytes(bytes: Buffer): JsonReading {
  const text = bytes.toString("utf8");
  return isUtf8(bytes) ? readJsonText(text) : { fault: "not_json", reason: "not UTF-8", text };
}

/** What is wrong with the JSON, and where. V8's own message would quote the text, which may contain personal data. */
function jsonProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return `not JSON from character ${Number(position) + 1} on`;
  return /end of JSON input/.test(message) ? "not JSON: it is incomplete" : "not JSON";
}
