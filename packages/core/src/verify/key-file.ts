import { readFile, stat } from "node:fs/promises";
import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, warnOfSetup } from "../base/logger.ts";
import { suggest } from "../base/options.ts";
import { type KeySource, type LoadedKeys, rotationEndMs } from "./key-source.ts";
import { keysIn, listSecrets, prepareKeys } from "./keyring.ts";

const keyShape = {
  secret: z.string(),
  notBefore: z.optional(z.string()),
  notAfter: z.optional(z.string()),
};
const fileShape = {
  keys: z.array(z.union([z.string(), z.strictObject(keyShape)])),
  rotatingUntil: z.optional(z.string()),
};
const form =
  'Write { "keys": ["whsec_…", { "secret": "whsec_…", "notAfter": "…" }], "rotatingUntil": "…" }, or secrets separated by spaces.';

/** A key source that is a file. */
export interface FileKeySource extends KeySource {
  /** The path of the file. */
  readonly keyFile: string;
}

/**
 * Reads keys from a file that is rewritten on rotation: secrets separated by spaces, or JSON of the form
 * `{ "keys": ["whsec_…", { "secret", "notBefore", "notAfter" }], "rotatingUntil" }`. Write the new file under another name
 * and rename it over the old one: half of a list of secrets may look like a whole one. Warns unless the mode is 0600.
 * Throws `invalid_option` without a path.
 */
export function fileKeySource(path: string, options: { logger?: Logger } = {}): FileKeySource {
  if (typeof path !== "string" || path === "") {
    throw new WebhookError(
      "invalid_option",
      "fileKeySource: there is no path.",
      "Pass the path of the key file. If it comes from an environment variable, set that.",
    );
  }
  return {
    keyFile: path,
    async load() {
      const { mode } = await stat(path);
      if (process.platform !== "win32" && (mode & 0o077) !== 0) {
        warnOfSetup(
          options.logger ?? silentLogger,
          "key_file_mode",
          `Other users can read the key file ${path}. Run chmod 600 on it.`,
        );
      }
      const text = (await readFile(path, "utf8")).trim(); // trims a byte order mark, too
      return keysIn(`The key file ${path}`, () => readKeys(text));
    },
  };
}

/** The content of a key file. Throws `invalid_secret`, and quotes no secret. */
function readKeys(text: string): LoadedKeys {
  const loaded: LoadedKeys = /^[{[]/.test(text) ? readJson(text) : { keys: text };
  if (listSecrets(loaded.keys).length === 0) {
    throw new WebhookError("invalid_secret", "There is no signing secret in it.", form);
  }
  prepareKeys(loaded.keys);
  rotationEndMs(loaded.rotatingUntil);
  return loaded;
}

function readJson(text: string): LoadedKeys {
  const json = parseJson(text);
  refuseUnknownFields(json, fileShape);
  for (const key of listOf(json)) refuseUnknownFields(key, keyShape);
  const result = z.strictObject(fileShape).safeParse(json);
  if (result.success) return result.data;
  throw new WebhookError("invalid_secret", "It is not of the expected form.", form);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // neither message nor cause: both may quote the file
    throw new WebhookError("invalid_secret", "It is not JSON.", form);
  }
}

function listOf(json: unknown): readonly unknown[] {
  const { keys } = json as { readonly keys?: unknown };
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
