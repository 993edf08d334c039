import { createHash } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { WebhookError } from "@esim-webhooks/core";
import * as z from "zod/mini";
import type { ImportErrorCode } from "./base/errors.ts";
import type { Position } from "./dump/record.ts";
import type { ImportSettings } from "./import-options.ts";
import type { Tally } from "./replay/ledger.ts";

interface Place extends Pick<Position, "record"> {
  readonly offset?: number | undefined;
}

/** How far an import is: all records up to a point are settled, and counted. */
export interface Checkpoint {
  readonly run: string;
  readonly tally: Tally;
  /** Where the last record stands of those that are settled, by which the same dump is told from a longer one; null: there are none. */
  readonly last: Place | null;
  /** How long the rejects file was. */
  readonly rejectsBytes: number;
}

export interface CheckpointFile {
  /** What the run before left. Throws `checkpoint_mismatch` where that was another import. */
  load(): Promise<Checkpoint | undefined>;
  save(checkpoint: Checkpoint): Promise<void>;
  remove(): Promise<void>;
}

const version = 1;
const count = z.int().check(z.gte(0));
// of whatever year a dump says, which z.iso.datetime() has four digits for
const time = z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text))));
const ledger = z.strictObject({
  read: count,
  stored: count,
  duplicate: count,
  conflict: count,
  invalid: count,
  filtered: count,
  rejected: count,
});
const fileShape = z.strictObject({
  version: z.literal(version),
  run: z.string().check(z.minLength(1)),
  dump: z.string(),
  options: z.string(),
  rejectsBytes: count,
  last: z.nullable(z.strictObject({ record: count, offset: z.optional(count) })),
  tally: z.strictObject({
    ledger,
    forced: count,
    types: z.record(z.string(), ledger),
    span: z.nullable(z.strictObject({ from: time, to: time })),
  }),
});

/** A file that is replaced as a whole, so that it is never half-written. */
export function checkpointFile(path: string, dump: string, options: string): CheckpointFile {
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      const read = fileShape.safeParse(jsonOf(text));
      if (!read.success) throw mismatch("is not one of this version");
      if (read.data.dump !== dump) throw mismatch("is of another dump");
      if (read.data.options !== options) throw mismatch("is of an import with other options");
      const { run, tally, last, rejectsBytes } = read.data;
      return { run, tally, last, rejectsBytes };
    },
    async save(checkpoint) {
      const next = `${path}.next`;
      const handle = await open(next, "w", 0o600);
      try {
        await handle.writeFile(JSON.stringify({ version, dump, options, ...checkpoint }));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(next, path);
    },
    async remove() {
      await rm(path, { force: true });
    },
  };
}

/** Stands for the options that decide what becomes of a record. Not the secret, and nothing that can be read back. */
export function optionsFingerprint(settings: ImportSettings, target: string): string {
  const { source, mapping, since, until, types, ids, esimReferences, statuses, oldestFirst, force } =
    settings;
  const { toleranceSeconds, maxRecordBytes, maxDepth } = settings;
  const filter = { since, until, types, ids, esimReferences, statuses };
  const rest = { target, source, mapping, oldestFirst, force, toleranceSeconds, maxRecordBytes, maxDepth };
  return createHash("sha256")
    .update(JSON.stringify({ ...filter, ...rest }))
    .digest("hex");
}

export function mismatch(what: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "checkpoint_mismatch",
    `The checkpoint file ${what}.`,
    "Go on with the dump and the options that it is of, or remove it to begin anew: what was done stays a duplicate.",
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
