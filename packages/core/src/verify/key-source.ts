import { readFile, stat } from "node:fs/promises";
import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, warnOfSetup } from "../base/logger.ts";
import type { Secrets } from "./keyring.ts";
import type { Key } from "./signing-key.ts";

/** What a key source has loaded. */
export interface LoadedKeys {
  readonly keys: Secrets;
  /**
   * A rotation is under way until this time. Until then a signature that matches no key is answered 503, not 401,
   * because its key may not have been loaded yet. At most 15 minutes ahead.
   */
  readonly rotatingUntil?: Date | string | null | undefined;
}

/**
 * Where keys come from when they change while the process runs: a secret manager, a file, a table. Loaded at start,
 * and again when a signature matches no key, at most once a second.
 */
export interface KeySource {
  /** Resolves to the current keys. When it rejects or has no keys, the previously loaded keys stay valid. */
  load(): Promise<readonly (string | Uint8Array | Key)[] | LoadedKeys>;
}

const fileShape = z.strictObject({
  keys: z.array(
    z.union([
      z.string(),
      z.strictObject({
        secret: z.string(),
        notBefore: z.optional(z.string()),
        notAfter: z.optional(z.string()),
      }),
    ]),
  ),
  rotatingUntil: z.optional(z.string()),
});

/**
 * Reads keys from a file that is rewritten on rotation: secrets separated by spaces, or JSON of the form
 * `{ "keys": ["whsec_…", { "secret", "notBefore", "notAfter" }], "rotatingUntil" }`. Write the new file under another name
 * and rename it over the old one: half of a list of secrets may look like a whole one. Warns unless the mode is 0600.
 */
export function fileKeySource(path: string, options: { logger?: Logger } = {}): KeySource {
  return {
    async load() {
      const { mode } = await stat(path);
      if (process.platform !== "win32" && (mode & 0o077) !== 0) {
        warnOfSetup(
          options.logger ?? silentLogger,
          "key_file_mode",
          "Other users can read the key file. Run chmod 600 on it.",
        );
      }
      const text = (await readFile(path, "utf8")).trim(); // trims a byte order mark, too
      return text.startsWith("{") ? readJson(text) : { keys: text };
    },
  };
}

function readJson(text: string): LoadedKeys {
  try {
    return fileShape.parse(JSON.parse(text));
  } catch {
    // neither message nor cause: both may quote the file
    throw new WebhookError(
      "invalid_secret",
      "The key file is not JSON of the expected form.",
      'Write { "keys": ["whsec_…"], "rotatingUntil": "…" }, or secrets separated by spaces.',
    );
  }
}
