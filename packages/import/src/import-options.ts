import { resolve } from "node:path";
import { type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions, type SettingsOf, safeLogger } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { DumpLimits } from "./dump/record.ts";
import type { ImportProgress } from "./import-report.ts";
import { type ReplayOptions, replayShape, type WithoutDefault } from "./replay/replay-options.ts";

export interface ImportOptions<Data = EsimEvents, Tx = unknown>
  extends ReplayOptions<Data, Tx>,
    Partial<DumpLimits> {
  /** Hands the events over by their timestamps; the deliveries listing is newest first. Takes disk for the dump. Default false. */
  readonly oldestFirst?: boolean | undefined;
  /** Where records go that are invalid or rejected, as NDJSON of `RejectedRecord`. Holds personal data: mode 0600. */
  readonly rejectsFile?: string | undefined;
  /** Where to note what is done, so that an import which was interrupted goes on there. Removed when the dump is read. */
  readonly checkpointFile?: string | undefined;
  /** Called some 10 times a second at most. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** The longest record, in bytes. Default 1 MiB. */
  readonly maxRecordBytes?: number;
  /** How deeply a record's JSON may be nested. Default 64. */
  readonly maxDepth?: number;
  /** How many bytes the dump may unpack to. Default 64 GiB. */
  readonly maxUnpackedBytes?: number;
  /** How many times its own size the dump may unpack to. Default 250. */
  readonly maxRatio?: number;
}

/** `ImportOptions`, read and with the defaults filled in. */
export type ImportSettings = SettingsOf<
  ImportOptions<unknown>,
  WithoutDefault | "rejectsFile" | "checkpointFile" | "onProgress"
>;

const path = z.optional(z.string().check(z.minLength(1)));
const mebibyte = 1024 * 1024;

const shape: OptionsShape<ImportSettings> = {
  ...replayShape,
  oldestFirst: z._default(z.boolean(), false),
  rejectsFile: path,
  checkpointFile: path,
  onProgress: z.optional(
    z.custom<(progress: ImportProgress) => void>(
      (given) => typeof given === "function",
      "expected a function",
    ),
  ),
  maxRecordBytes: z._default(z.int().check(z.gte(1), z.lte(64 * mebibyte)), mebibyte),
  maxUnpackedBytes: z._default(z.int().check(z.gte(1)), 64 * 1024 * mebibyte),
  maxRatio: z._default(z.number().check(z.gte(1)), 250),
};

export function parseImportOptions(options: unknown): ImportSettings {
  const settings = parseOptions("importDeliveries", shape, options);
  const { rejectsFile, checkpointFile } = settings;
  if (
    rejectsFile !== undefined &&
    checkpointFile !== undefined &&
    resolve(rejectsFile) === resolve(checkpointFile)
  ) {
    throw new WebhookError(
      "invalid_option",
      "importDeliveries: rejectsFile and checkpointFile are one file, in which each would overwrite the other.",
      "Give each a name of its own.",
    );
  }
  return { ...settings, logger: safeLogger(settings.logger) };
}
