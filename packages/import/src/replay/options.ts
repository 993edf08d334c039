import { resolve } from "node:path";
import {
  type Catalog,
  type Clock,
  type DedupeStore,
  type EsimEvents,
  type Logger,
  type Secrets,
  type ToleranceSeconds,
  WebhookError,
} from "@esim-webhooks/core";
import { type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import {
  ownSourceOption,
  processorShape,
  type SettingsOf,
  toleranceOption,
} from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { DumpLimits } from "../dump/record.ts";
import type { ImportFilter } from "../record/checks.ts";
import { type Mapping, mappable } from "../record/record-reader.ts";
import type { RecordVerdict } from "./journal.ts";
import type { Ledger } from "./ledger.ts";

/** How deeply the JSON of any record may be nested. Node.js parses JSON of any depth, and overflows its stack when it writes it. */
export const deepest = 1000;

/** The options of every replay, wherever its records come from. */
export interface ReplayOptions<Data = EsimEvents, Tx = unknown> extends ImportFilter {
  /** Verifies captured requests, with the keys that were valid at `receivedAt`. Default: `ESIM_WEBHOOK_SECRET`. */
  readonly secret?: Secrets | undefined;
  /**
   * The name of the endpoint that received the events: the same as the option `source` of its receiver. Ids are unique within it.
   * Refused (`source_unknown`) if the target has events, but only of other sources. Default `"default"`, or `"test"` with
   * `ESIM_ENVIRONMENT=test`.
   */
  readonly source?: string | undefined;
  /** Accepts a `source` of which the target has no events yet. Default false. */
  readonly newSource?: boolean | undefined;
  /** How far a captured request's timestamp may be from its `receivedAt`, in seconds: a number, or `{ past, future }`. Default 300. */
  readonly toleranceSeconds?: ToleranceSeconds | undefined;
  /** Accepts records without a signature: delivery records, and unsigned requests. You vouch for them. Default false. */
  readonly trustUnsigned?: boolean | undefined;
  /** For records of another shape: our field → dotted path, as in `{ eventId: "message.id", payload: "message.body" }`. */
  readonly mapping?: Mapping | undefined;
  /** The event types and their schemas, unless the target is a processor. Default: the eSIM events. Extend them with `defineCatalog`. */
  readonly catalog?: Catalog<Data> | undefined;
  /** With handlers: remembers done ids. Default: a `memoryStore()`, which forgets them when the process ends. */
  readonly store?: DedupeStore<Tx> | undefined;
  /** With handlers or a processor: how many handlers run at the same time. Default 1, which keeps the order. */
  readonly concurrency?: number | undefined;
  /** Sorts the events by timestamp: the deliveries listing is newest first. Needs disk space for all records. Default false. */
  readonly oldestFirst?: boolean | undefined;
  /** Runs done events again, once per run, and logs each of them. Default false. */
  readonly force?: boolean | undefined;
  /** Reads, filters and verifies, but uses no target and no store. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Stops the replay: running handlers finish, and the report says `interrupted`. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  readonly logger?: Logger | undefined;
  /** The clock, for tests. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** How deeply JSON that a record contains as text may be nested, at most 1,000. Default 64. The record itself may be nested 1,000 deep. */
  readonly maxDepth?: number;
}

/** The options that can be undefined after parsing. */
export type WithoutDefault = keyof ImportFilter | "secret" | "mapping" | "store" | "signal";

export type ReplaySettings = SettingsOf<ReplayOptions<unknown>, WithoutDefault>;

const nonEmpty = z.string().check(z.minLength(1));
const names = z.optional(z.array(nonEmpty).check(z.minLength(1, "is empty, so nothing would be imported")));
const date = z.optional(z.date("expected a valid Date"));

const { catalog, store, logger, clock } = processorShape;

export const replayShape: OptionsShape<ReplaySettings> = {
  secret: z.optional(z.custom<Secrets>()), // the keyring checks it
  source: ownSourceOption,
  newSource: z._default(z.boolean(), false),
  toleranceSeconds: toleranceOption,
  trustUnsigned: z._default(z.boolean(), false),
  mapping: z.optional(
    z
      .partialRecord(z.enum(mappable), nonEmpty)
      .check(
        z.refine(
          (map) =>
            ("eventId" in map && "payload" in map) ||
            ("headers" in map && "body" in map && "receivedAt" in map),
          'map "eventId" and "payload", or "headers", "body" and "receivedAt"',
        ),
      ),
  ) as z.ZodMiniType<Mapping | undefined>,
  catalog,
  store,
  concurrency: z._default(z.int().check(z.gte(1)), 1),
  since: date,
  until: date,
  types: names,
  ids: names,
  esimReferences: names,
  statuses: z.optional(
    z.array(z.enum(["pending", "sending", "delivered", "failed", "exhausted"])).check(z.minLength(1)),
  ),
  oldestFirst: z._default(z.boolean(), false),
  force: z._default(z.boolean(), false),
  dryRun: z._default(z.boolean(), false),
  signal: z.optional(z.instanceof(AbortSignal)),
  logger,
  clock,
  maxDepth: z._default(z.int().check(z.gte(1), z.lte(deepest)), 64),
};

export interface ImportOptions<Data = EsimEvents, Tx = unknown>
  extends ReplayOptions<Data, Tx>,
    Partial<DumpLimits> {
  /** The file for conflicts, invalid and rejected records, as NDJSON of `RejectedRecord`. It contains personal data: mode 0600. */
  readonly rejectsFile?: string | undefined;
  /** The file that remembers how far the import has come: after an interruption, the next run continues there. Removed once the import is complete. */
  readonly checkpointFile?: string | undefined;
  /** Called at most 10 times a second, and at the end, unless the import rejects. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called with the next records, in order, once their fates are known and counted. */
  readonly onSettled?: ((records: readonly RecordVerdict[]) => void) | undefined;
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
  WithoutDefault | "rejectsFile" | "checkpointFile" | "onProgress" | "onSettled"
>;

const path = z.optional(z.string().check(z.minLength(1)));
const aFunction = <T>() =>
  z.optional(z.custom<T>((value) => typeof value === "function", "expected a function"));
const mebibyte = 1024 * 1024;

export const importShape: OptionsShape<ImportSettings> = {
  ...replayShape,
  rejectsFile: path,
  checkpointFile: path,
  onProgress: aFunction<(progress: ImportProgress) => void>(),
  onSettled: aFunction<(records: readonly RecordVerdict[]) => void>(),
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
