import { masked } from "@esim-webhooks/core/masking";
import { shortened } from "../terminal/text.ts";
import { maskText } from "./mask-text.ts";

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
 * JSON with its personal data masked. Shows the values of references and of harmless fields of the spec; in the latter,
 * long numbers and activation codes are masked. Of all other fields, in events of any type, it shows only the names. Long texts are
 * shortened.
 */
export function maskEvent(json: unknown): unknown {
  return maskJson(json, maskLeaf);
}

function maskLeaf(value: unknown, key: string): unknown {
  if (references.has(key)) return typeof value === "string" ? shortened(value) : value;
  if (!harmless.has(key)) return masked;
  if (typeof value === "string") return maskText(value);
  return maskText(String(value)) === String(value) ? value : masked;
}

const maxDepth = 64;

/**
 * JSON with its texts and numbers as `maskLeaf` shows them.
 * @param maskLeaf gets a text or a number, and the name of its field; for an item of a list, that of the list
 */
export function maskJson(json: unknown, maskLeaf: (value: unknown, field: string) => unknown): unknown {
  function maskValue(value: unknown, field: string, depth: number): unknown {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value !== "object") return maskLeaf(value, field);
    if (depth === maxDepth) return masked;
    if (Array.isArray(value)) return value.map((item) => maskValue(item, field, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [maskText(name), maskValue(each, name, depth + 1)]),
    );
  }
  return maskValue(json, "", 0);
}
