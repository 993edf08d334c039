import { resolve } from "node:path";
import {
  type Catalog,
  type Clock,
  type DedupeStore,
  type EsimEvents,
  esimCatalog,
  type Logger,
  type Secrets,
  WebhookError,
} from "@esim-webhooks/core";
import {
  defaultToleranceSeconds,
  loggerOption,
  type OptionsShape,
  parseOptions,
  processorShape,
  safeLogger,
  silentLogger,
  systemClock,
  withMethods,
} from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { DumpLimits } from "./dump/record.ts";
import type { ImportProgress } from "./import-report.ts";
import type { ImportFilter } from "./record/filter.ts";
import { type Mapping, mappable } from "./record/mapping.ts";

export interface ImportOptions<Data = EsimEvents, Tx = unknown> extends ImportFilter, Partial<DumpLimits> {
  /** What captured requests are verified with: keys with their windows count at `receivedAt`. Default: `ESIM_WEBHOOK_SECRET`. */
  readonly secret?: Secrets | undefined;
  /** The name of the endpoint that the events were for; ids are unique within it. Default `"default"`. */
  readonly source?: string | undefined;
  /** How far a captured request's timestamp may be from its `receivedAt`, either way, in seconds. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Your word for records that nothing proves: delivery records, and requests without a signature. Default false. */
  readonly trustUnsigned?: boolean | undefined;
  /** For records of another shape, our field → dotted path: `{ eventId: "message.id", payload: "message.body" }`. */
  readonly mapping?: Mapping | undefined;
  /** Default: the eSIM events. Extend it with `defineCatalog`. A processor has its own. */
  readonly catalog?: Catalog<Data> | undefined;
  /** With handlers: where done ids are remembered. Default: a `memoryStore()`, which forgets them with the process. */
  readonly store?: DedupeStore<Tx> | undefined;
  /** With handlers or a processor: how many events are worked at the same time. Default 1, which keeps their order. */
  readonly concurrency?: number | undefined;
  /** Hands the events over by their timestamps; the deliveries listing is newest first. Takes disk for the dump. Default false. */
  readonly oldestFirst?: boolean | undefined;
  /** Runs events that are done again: once in this import, each of them logged. Default false. */
  readonly force?: boolean | undefined;
  /** Reads, filters and verifies, and touches no target and no store. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Where records go that are invalid or rejected, as NDJSON of `RejectedRecord`. Holds personal data: mode 0600. */
  readonly rejectsFile?: string | undefined;
  /** Where to note what is done, so that an import which was interrupted goes on there. Removed when the dump is read. */
  readonly checkpointFile?: string | undefined;
  /** Called some 10 times a second at most. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Stops the import: what is under way ends, and the report says `interrupted`. */
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
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
export interface ImportSettings extends ImportFilter, DumpLimits {
  readonly secret?: Secrets | undefined;
  readonly source: string;
  readonly toleranceSeconds: number;
  readonly trustUnsigned: boolean;
  readonly mapping?: Mapping | undefined;
  readonly catalog: Catalog<unknown>;
  readonly store?: DedupeStore | undefined;
  readonly concurrency: number;
  readonly oldestFirst: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly rejectsFile?: string | undefined;
  readonly checkpointFile?: string | undefined;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}

const nonEmpty = z.string().check(z.minLength(1));
const names = z.optional(z.array(nonEmpty).check(z.minLength(1, "is empty, so nothing would be imported")));
const date = z.optional(z.date("expected a valid Date"));
const mebibyte = 1024 * 1024;

const shape: OptionsShape<ImportSettings> = {
  secret: z.optional(z.custom<Secrets>()), // the keyring's to check
  source: z._default(nonEmpty, "default"),
  toleranceSeconds: z._default(z.int().check(z.gte(1), z.lte(86_400)), defaultToleranceSeconds),
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
  catalog: z._default(withMethods<Catalog<unknown>>("parse", "check"), esimCatalog as Catalog<unknown>),
  store: processorShape.store,
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
  rejectsFile: z.optional(nonEmpty),
  checkpointFile: z.optional(nonEmpty),
  onProgress: z.optional(
    z.custom<(progress: ImportProgress) => void>(
      (given) => typeof given === "function",
      "expected a function",
    ),
  ),
  signal: z.optional(z.instanceof(AbortSignal)),
  logger: z._default(loggerOption, silentLogger),
  clock: z._default(withMethods<Clock>("now"), systemClock),
  maxRecordBytes: z._default(z.int().check(z.gte(1), z.lte(64 * mebibyte)), mebibyte),
  maxDepth: z._default(z.int().check(z.gte(1), z.lte(1000)), 64),
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
