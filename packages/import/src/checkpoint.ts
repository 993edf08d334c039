import { createHash, randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { syncFolder } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { ImportErrorCode } from "./dump/errors.ts";
import type { Position } from "./dump/record.ts";
import type { Prefix } from "./input.ts";
import { openOwnFile } from "./own-file.ts";
import type { ReplayCounts } from "./replay/ledger.ts";
import type { ImportSettings } from "./replay/options.ts";

interface Place extends Pick<Position, "record"> {
  readonly offset?: number | undefined;
}

/** How far an import has come: all records up to `last` are settled and counted. */
export interface Checkpoint {
  readonly run: string;
  readonly tally: ReplayCounts;
  /** The position of the last settled record. It distinguishes dumps with the same first bytes. Null before the first. */
  readonly last: Place | null;
  /** The part of the dump that was read: all settled records, and more. A dump with other bytes there is another dump. */
  readonly read: Prefix;
  /** How many bytes of the rejects file are of this import. An earlier import may have left more after them. */
  readonly rejectsBytes: number;
}

/**
 * The file of one import. If a second import loads the file, it takes the file over: from then on, `check` and `save` of the first
 * import reject with `checkpoint_in_use`, so that neither continues from what the other has counted.
 */
export interface CheckpointFile {
  /**
   * Resolves to the checkpoint of the previous run, if there is one, and takes the file over. Rejects with `checkpoint_mismatch`
   * if it is of another dump, other options or another version, and with `foreign_file` for a link or another user's file.
   */
  load(): Promise<Checkpoint | undefined>;
  save(checkpoint: Checkpoint): Promise<void>;
  /** Rejects when another import has taken over, or the file was removed. */
  check(): Promise<void>;
  /** Removes the file, unless another import has taken it over. */
  remove(): Promise<void>;
}

const version = 2;
const count = z.int().check(z.gte(0));
// a dump may contain any year, and z.iso.datetime() allows only four digits
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
  owner: z.string(),
  run: z.string().check(z.minLength(1)),
  dump: z.string(),
  options: z.string(),
  read: z.strictObject({ bytes: count, crc32: count }),
  rejectsBytes: count,
  last: z.nullable(z.strictObject({ record: count, offset: z.optional(count) })),
  tally: z.strictObject({
    ledger,
    forced: count,
    types: z.record(z.string(), ledger),
    span: z.nullable(z.strictObject({ from: time, to: time })),
  }),
});

/** A file that each save replaces as a whole, so that it is never half-written. */
export function checkpointFile(path: string, dump: string, options: string): CheckpointFile {
  const owner: string = randomUUID();
  let lastOwner: string | undefined; // the owner that this import has written last

  async function contents(): Promise<string | undefined> {
    try {
      const handle = await openOwnFile(path);
      return await handle.readFile("utf8").finally(() => handle.close());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  const isOurs = (text: string | undefined) => (text === undefined ? undefined : ownerIn(text)) === lastOwner;

  async function check(): Promise<void> {
    const text = await contents();
    if (!isOurs(text)) throw text === undefined ? removed(path) : inUse(path);
  }

  async function write(checkpoint: Checkpoint): Promise<void> {
    const next = `${path}.${randomUUID()}`; // a name that no other user can guess
    const text = JSON.stringify({ version, owner, dump, options, ...checkpoint });
    try {
      await writeFile(next, text, { flag: "wx", mode: 0o600, flush: true });
      await rename(next, path);
      lastOwner = owner;
      await syncFolder(dirname(path));
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
  }

  return {
    check,
    async load() {
      const text = await contents();
      if (text === undefined) return undefined;
      const found = fileShape.safeParse(jsonOf(text));
      if (!found.success) throw mismatch("was not written by this version");
      if (found.data.dump !== dump) throw mismatch("belongs to another dump");
      if (found.data.options !== options) throw mismatch("belongs to an import with other options");
      const { run, tally, last, read, rejectsBytes } = found.data;
      await write({ run, tally, last, read, rejectsBytes });
      return { run, tally, last, read, rejectsBytes };
    },
    async save(checkpoint) {
      await check();
      await write(checkpoint);
    },
    async remove() {
      if (isOurs(await contents())) await rm(path, { force: true });
    },
  };
}

function ownerIn(text: string): string | undefined {
  return (jsonOf(text) as { readonly owner?: string } | undefined)?.owner;
}

function inUse(path: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "checkpoint_in_use",
    `Another import has taken over the checkpoint file ${path}.`,
    "Let that one end, or give each import a checkpoint file and a rejects file of its own.",
  );
}

/** The error for a file that is gone. An import that takes a file over removes it at its end. */
function removed(path: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "checkpoint_in_use",
    `The checkpoint file ${path} was removed while this import used it: by another import that has ended, or manually.`,
    "If no other import has ended, run this one again.",
  );
}

/** Returns a hash of the options that must stay the same when an import continues. The secret may change. */
export function optionsFingerprint(settings: ImportSettings, target: string): string {
  const { source, mapping, since, until, types, ids, esimReferences, statuses, oldestFirst, force } =
    settings;
  const { toleranceSeconds, acceptRoundedIds, maxRecordBytes, maxDepth } = settings;
  const filter = { since, until, types, ids, esimReferences, statuses };
  const order = { target, source, mapping, oldestFirst, force };
  const rest = { toleranceSeconds, acceptRoundedIds, maxRecordBytes, maxDepth };
  return createHash("sha256")
    .update(JSON.stringify({ ...filter, ...order, ...rest }))
    .digest("hex");
}

export function mismatch(what: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "checkpoint_mismatch",
    `The checkpoint file ${what}.`,
    "Continue with the dump and the options that it belongs to, or remove it to start over: done events stay duplicates.",
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
