import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import { type LoadedKeys, rotationEndMs } from "./key-source.ts";
import type { KeyRecord } from "./key-store.ts";
import { listSecrets, prepareKeys } from "./keyring.ts";

const keyShape = {
  secret: z.string(),
  notBefore: z.optional(z.string()),
  notAfter: z.optional(z.string()),
  endpoint: z.optional(z.string()),
};
const recordShape = {
  keys: z.array(z.union([z.string(), z.strictObject(keyShape)])),
  rotatingUntil: z.optional(z.string()),
  change: z.optional(z.record(z.string(), z.unknown())),
};
const form =
  'Write { "keys": ["whsec_…", { "secret": "whsec_…", "notAfter": "…" }], "rotatingUntil": "…" }, or secrets separated by spaces.';

/**
 * Reads JSON as a key record, of which the record may be without keys: those of a new endpoint come later.
 * Throws `invalid_secret`, and quotes no secret.
 */
export function keyRecordOf(json: unknown): KeyRecord {
  refuseUnknownFields(json, recordShape);
  for (const key of listOf(json)) refuseUnknownFields(key, keyShape);
  const result = z.strictObject(recordShape).safeParse(json);
  if (!result.success) throw new WebhookError("invalid_secret", "It does not have the expected form.", form);
  const record = result.data as KeyRecord; // JSON has no undefined
  if (record.keys.length > 0) prepareKeys(record.keys);
  rotationEndMs(record.rotatingUntil);
  return record;
}

/**
 * Reads the text of a key store: the JSON of a record, or secrets separated by spaces. `own` is a field that the store adds to the JSON, and
 * that is not of the record. Throws `invalid_secret`, and quotes no secret.
 */
export function readKeyText(
  content: string,
  own?: string,
): { readonly record: KeyRecord; readonly own?: unknown } {
  const text = content.trim(); // trims a byte order mark, too
  if (!/^[{[]/.test(text)) return { record: keyRecordOf({ keys: listSecrets(text) }) };
  const json = parseKeyJson(text);
  if (typeof json !== "object" || json === null || own === undefined || !(own in json))
    return { record: keyRecordOf(json) };
  const { [own]: value, ...record } = json as Record<string, unknown>;
  return { record: keyRecordOf(record), own: value };
}

/** What a receiver loads of a record. Throws `invalid_secret` if there is no key in it. */
export function loadedKeysOf({ keys, rotatingUntil }: KeyRecord): LoadedKeys {
  if (keys.length === 0) {
    throw new WebhookError("invalid_secret", "There is no signing secret in it.", form);
  }
  return rotatingUntil === undefined ? { keys } : { keys, rotatingUntil };
}

/** Text as JSON. Throws `invalid_secret` without message or cause of the parser: both may quote the text. */
function parseKeyJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new WebhookError("invalid_secret", "It is not JSON.", form);
  }
}

function listOf(json: unknown): readonly unknown[] {
  const keys: unknown = (json as { readonly keys?: unknown } | null)?.keys;
  return Array.isArray(keys) ? keys : [];
}

function refuseUnknownFields(given: unknown, shape: object): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return;
  const unknown = Object.keys(given).find((name) => !(name in shape));
  if (unknown === undefined) return;
  // a longer name may be a secret in the wrong place
  const named = /^\w{1,20}$/.test(unknown) ? `There is no field "${unknown}".` : "There is an unknown field.";
  throw new WebhookError("invalid_secret", named, `${suggest(unknown, Object.keys(shape))} ${form}`);
}
