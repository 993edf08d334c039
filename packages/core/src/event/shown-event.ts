import { isUtf8 } from "node:buffer";
import { masked, maskText, shortened } from "../base/masking.ts";

// opaque references of the API: not personal data, and an operator needs them to investigate
const references: ReadonlySet<string> = new Set([
  "profileReference",
  "esimReference",
  "packageReference",
  "planReference",
  "portInRequestReference",
  "clientTransactionId",
  "providerTransactionId",
]);

// the fields of events and of delivery records in the spec, except ICCID and EID
const harmless: ReadonlySet<string> = new Set([
  "type",
  "timestamp",
  "reason",
  "code",
  "detail",
  "status",
  "lifecycleStatus",
  "previousLifecycleStatus",
  "previousCountry",
  "previousMcc",
  "previousMnc",
  "newCountry",
  "newMcc",
  "newMnc",
  "updateType",
  "source",
  "amount",
  "balanceAfter",
  "currency",
  "occurredAt",
  "eventType",
  "attemptNumber",
  "httpStatus",
  "nextRetryAt",
  "sentAt",
  "deliveredAt",
]);

/**
 * Returns JSON with its personal data masked. Shows the values of references and of harmless fields of the spec, but in the latter masks
 * long numbers, activation codes and the like. Masks the texts and numbers of all other fields, of any type of event. Shortens long texts.
 */
export function maskEvent(json: unknown): unknown {
  return maskJson(json, maskLeaf);
}

function maskLeaf(value: unknown, key: string): unknown {
  if (references.has(key)) return typeof value === "string" ? shortened(value) : value;
  if (!harmless.has(key)) return masked;
  if (typeof value === "string") return maskText(value);
  const text = isExact(value) ? value.rawJSON : String(value);
  return maskText(text) === text ? value : masked;
}

const maxDepth = 64;

/**
 * Returns JSON with its texts and numbers as `maskLeaf` shows them, and with masked field names.
 * @param json what `JSON.parse` returned; it is not changed
 * @param maskLeaf gets a text or a number, and the name of its field; for an item of a list, the name of the list
 */
export function maskJson(json: unknown, maskLeaf: (value: unknown, field: string) => unknown): unknown {
  function maskValue(value: unknown, field: string, depth: number): unknown {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value !== "object" || isExact(value)) return maskLeaf(value, field);
    if (depth === maxDepth) return masked;
    if (Array.isArray(value)) return value.map((item) => maskValue(item, field, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [maskText(name), maskValue(each, name, depth + 1)]),
    );
  }
  return maskValue(json, "", 0);
}

/** Masks personal data in a lane, unless the lane is a reference of the event: the option `lane` may return any text. */
export function maskLane({
  lane,
  body,
}: {
  readonly lane: string | null;
  readonly body: Uint8Array | null;
}): string | null {
  const { data } = ((body && readBody(body).json) ?? {}) as { data?: Record<string, unknown> | null };
  const isReference = lane === data?.["esimReference"] || lane === data?.["profileReference"];
  if (lane === null) return null;
  return isReference ? shortened(lane) : maskText(lane);
}

/** A body as text, and as JSON, as far as it is these. */
export interface ReadBody {
  /** Absent unless the body is JSON that can be printed. Printed numbers keep all their digits. */
  readonly json?: unknown;
  /** Null when the body is not UTF-8. */
  readonly text: string | null;
}

/** Reads a body for people: as text, and as JSON if it is JSON. Masks nothing. */
export function readBody(body: Uint8Array): ReadBody {
  if (!isUtf8(body)) return { text: null };
  const text = Buffer.from(body).toString();
  try {
    const json: unknown = JSON.parse(text, keepDigits);
    JSON.stringify(json); // throws for JSON that is nested so deeply that it can be parsed but not printed
    return { json, text };
  } catch {
    return { text };
  }
}

/** The text of a number that JavaScript would write differently, for example rounded. */
interface ExactNumber {
  readonly rawJSON: string;
}

const exactJson = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): boolean;
};

function isExact(value: unknown): value is ExactNumber {
  return exactJson.isRawJSON(value);
}

function keepDigits(_key: string, value: unknown, context?: { readonly source: string }): unknown {
  return typeof value === "number" && context !== undefined && String(value) !== context.source
    ? exactJson.rawJSON(context.source)
    : value;
}
