import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, warnOfSetup } from "../base/logger.ts";
import type { Secrets } from "./keyring.ts";
import type { Key } from "./signing-key.ts";

/** The keys that a key source has now. */
export interface LoadedKeys {
  readonly keys: Secrets;
  /**
   * A rotation is under way until then: a signature that no key matches is answered 503, not 401, since the
   * key may be on its way. At most 24 hours ahead.
   */
  readonly rotatingUntil?: Date | string | null | undefined;
}

/**
 * Where keys come from when they change while the process runs: a secret manager, a file, a table. It is loaded at
 * start and whenever a signature matches no key, at most once a second.
 */
export interface KeySource {
  /** Rejects, or gives no keys, when it cannot tell: the keys of before then stay. */
  load(): Promise<readonly (string | Key)[] | LoadedKeys>;
}

const fileShape = z.strictObject({
  keys: z.array(
    z.union([
      z.string(),
      z.strictObject({
        secret: z.string(),
        notBefore: z.string().optional(),
        notAfter: z.string().optional(),
      }),
    ]),
  ),
  rotatingUntil: z.string().optional(),
});

/**
 * Keys from a file that is rewritten on rotation: either secrets separated by blanks, or JSON of the form
 * `{ "keys": ["whsec_…", { "secret", "notBefore", "notAfter" }], "rotatingUntil" }`. Write it to another name
 * and rename it over the old one: a list of secrets that is read half-written may look whole. Mode 0600 is expected, else it warns.
 */
export function fileKeySource(path: string, options: { logger?: Logger } = {}): KeySource {
  return {
    async load() {
      const { mode } = await stat(path);
      if (process.platform !== "win32" && (mode & 0o077) !== 0) {
        warnOfSetup(
          options.logger ?? silentLogger,
          "key_file_mode",
          "The key file can be read by others than its owner. Run chmod 600 on it.",
        );
      }
      const text = (await readFile(path, "utf8")).trim(); // a byte order mark goes too
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
      'Write { "keys": ["whsec_…"], "rotatingUntil": "…" }, or secrets separated by blanks.',
    );
  }
}
