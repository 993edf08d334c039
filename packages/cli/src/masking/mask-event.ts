import { masked, maskText } from "./mask-text.ts";

// opaque names of the API (spec 1): they say nothing by themselves, and an operator needs them to look further
const references: ReadonlySet<string> = new Set([
  "profileReference",
  "esimReference",
  "packageReference",
  "planReference",
  "portInRequestReference",
  "clientTransactionId",
  "providerTransactionId",
]);

// what the spec shows of its events and deliveries, ICCID and EID left out (spec 2.5, 6.2, 6.3)
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

const deepest = 64;

/**
 * JSON with its personal data masked. Shown are the fields that the spec shows and that are none, numbers and codes in
 * their texts masked; of all other fields, of events of any type, there is nothing but their names.
 */
export function maskEvent(json: unknown): unknown {
  return maskValue(json, "", 0);
}

function maskValue(value: unknown, key: string, depth: number): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value !== "object") return maskLeaf(value, key);
  if (depth === deepest) return masked;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, key, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [maskText(name), maskValue(each, name, depth + 1)]),
  );
}

function maskLeaf(value: unknown, key: string): unknown {
  if (references.has(key)) return value;
  if (!harmless.has(key)) return masked;
  if (typeof value === "string") return maskText(value);
  return maskText(String(value)) === String(value) ? value : masked;
}
