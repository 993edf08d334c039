import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import { type LoadedKeys, rotationEndMs } from "./key-source.ts";
import type { KeyRecord } from "./key-store.ts";
import { keysIn, listSecrets, prepareKeys } from "./keyring.ts";

const keyShape = {
  secret: z.string(),
  notBefore: z.optional(z.string()),
  notAfter: z.optional(z.string()),
  endpoint: z.optional(z.string()),
};
const recordShape = {
  keys: z.array(z.union([z.string(), z.strictObject(keyShape)])),
  rotatingUntil: z.optional(z.string()),
  environment: z.optional(z.literal("test")),
  change: z.optional(z.record(z.string(), z.unknown())),
};
const form =
  'Write { "keys": ["whsec_…", { "secret": "whsec_…", "notAfter": "…" }], "rotatingUntil": "…" }, or secrets separated by spaces.';

/** The reader of key records in one place. Each function throws `invalid_secret`, whose message names the place and quotes no secret. */
export interface KeyRecords {
  /** Reads a parsed JSON value as a key record. The record may be without keys: those of a new endpoint come later. */
  of(json: unknown): KeyRecord;
  /**
   * Reads the text of a key store: the JSON of a record, or secrets separated by spaces. `own` is a field that the store adds to the JSON, and
   * that does not belong to the record.
   */
  read(text: string, own?: string): { readonly record: KeyRecord; readonly own?: unknown };
  /** Returns the keys that a receiver loads. Throws if the record has none. */
  loaded(record: KeyRecord): LoadedKeys;
}

/**
 * For authors of key stores: makes the reader of the key records in a place.
 * @param place a file, a state or a secret's name, for messages
 */
export function keyRecordsIn(place: string): KeyRecords {
  return {
    of: (json) => keysIn(place, () => keyRecordOf(json)),
    read: (text, own) => keysIn(place, () => readKeyText(text, own)),
    loaded: (record) => keysIn(place, () => loadedKeysOf(record)),
  };
}

function keyRecordOf(json: unknown): KeyRecord {
  refuseUnknownFields(json, recordShape);
  for (const key of listOf(json)) refuseUnknownFields(key, keyShape);
  const result = z.strictObject(recordShape).safeParse(json);
  if (!result.success) throw new WebhookError("invalid_secret", "It does not have the expected form.", form);
  const record = result.data as KeyRecord; // JSON has no undefined
  if (record.keys.length > 0) prepareKeys(record.keys);
  rotationEndMs(record.rotatingUntil);
  return record;
}

function readKeyText(content: string, own?: string): ReturnType<KeyRecords["read"]> {
  const text = content.trim(); // trims a byte order mark, too
  if (!/^[{[]/.test(text)) return { record: keyRecordOf({ keys: listSecrets(text) }) };
  const json = parseKeyJson(text);
  if (typeof json !== "object" || json === null || own === undefined || !(own in json))
    return { record: keyRecordOf(json) };
  const { [own]: value, ...record } = json as Record<string, unknown>;
  return { record: keyRecordOf(record), own: value };
}

function loadedKeysOf({ keys, rotatingUntil }: KeyRecord): LoadedKeys {
  if (keys.length === 0) {
    throw new WebhookError("invalid_secret", "There is no signing secret in it.", form);
  }
  return rotatingUntil === undefined ? { keys } : { keys, rotatingUntil };
}

/** Parses JSON. Throws `invalid_secret` without the parser's message or error: both may quote the text. */
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
