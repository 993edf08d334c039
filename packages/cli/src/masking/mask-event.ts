import { maskJson } from "./mask-json.ts";
import { masked, maskText } from "./mask-text.ts";
import { shortened } from "./shortened.ts";

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
