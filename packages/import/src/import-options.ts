import { resolve } from "node:path";
import { type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions, type SettingsOf } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { DumpLimits } from "./dump/record.ts";
import type { Ledger } from "./replay/ledger.ts";
import { type ReplayOptions, replayShape, type WithoutDefault } from "./replay/replay-options.ts";

export interface ImportOptions<Data = EsimEvents, Tx = unknown>
  extends ReplayOptions<Data, Tx>,
    Partial<DumpLimits> {
  /** The file for conflicts, invalid and rejected records, as NDJSON of `RejectedRecord`. It contains personal data: mode 0600. */
  readonly rejectsFile?: string | undefined;
  /** The file that remembers how far the import has come: after an interruption, the next run continues there. Removed at the end. */
  readonly checkpointFile?: string | undefined;
  /** Called at most 10 times a second, and at the end. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /**
   * Accepts unsigned records whose id is a number that a spreadsheet has rounded, such as `1.23E+17`. Other events may have the same
   * text: they would be duplicates or conflicts. Default false: such records are `rejected`.
   */
  readonly acceptRoundedIds?: boolean | undefined;
  /** The longest record, in bytes. Default 1 MiB. */
  readonly maxRecordBytes?: number;
  /** How deeply a record's JSON may be nested. Default 64. */
  readonly maxDepth?: number;
  /** The largest size of the unpacked dump, in bytes. Default 64 GiB. */
  readonly maxUnpackedBytes?: number;
  /** The largest ratio of the unpacked size to the packed size. Default 250. */
  readonly maxRatio?: number;
}

/** The progress of an import. */
export interface ImportProgress {
  /** How many bytes of the dump were read; compressed bytes if it is compressed. */
  readonly bytesRead: number;
  /** How many records have a fate. Includes those of the interrupted run that this one continues. */
  readonly records: number;
  /** The fates so far. */
  readonly ledger: Ledger;
}

/** `ImportOptions` after parsing, with defaults. */
export type ImportSettings = SettingsOf<
  ImportOptions<unknown>,
  WithoutDefault | "rejectsFile" | "checkpointFile" | "onProgress"
>;

const path = z.optional(z.string().check(z.minLength(1)));
const mebibyte = 1024 * 1024;

export const importShape: OptionsShape<ImportSettings> = {
  ...replayShape,
  rejectsFile: path,
  checkpointFile: path,
  onProgress: z.optional(
    z.custom<(progress: ImportProgress) => void>(
      (value) => typeof value === "function",
      "expected a function",
    ),
  ),
  acceptRoundedIds: z._default(z.boolean(), false),
  maxRecordBytes: z._default(z.int().check(z.gte(1), z.lte(64 * mebibyte)), mebibyte),
  maxUnpackedBytes: z._default(z.int().check(z.gte(1)), 64 * 1024 * mebibyte),
  maxRatio: z._default(z.number().check(z.gte(1)), 250),
};

export function parseImportOptions(options: unknown): ImportSettings {
  const settings = parseOptions("importDeliveries", importShape, options);
  const { rejectsFile, checkpointFile } = settings;
  if (
    rejectsFile !== undefined &&
    checkpointFile !== undefined &&
    resolve(rejectsFile) === resolve(checkpointFile)
  ) {
    throw new WebhookError(
      "invalid_option",
      "rejectsFile and checkpointFile are the same file, and each would overwrite the other.",
      "Use two files.",
      { where: "importDeliveries" },
    );
  }
  return settings;
}
