import type {
  Catalog,
  Clock,
  DedupeStore,
  EsimEvents,
  Logger,
  Secrets,
  ToleranceSeconds,
} from "@esim-webhooks/core";
import {
  defaultToleranceSeconds,
  type OptionsShape,
  processorShape,
  type SettingsOf,
  sourceOption,
  toleranceOption,
} from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { ImportFilter } from "../record/filter.ts";
import { type Mapping, mappable } from "../record/record-reader.ts";

/** How deeply the JSON of any record may be nested. Node.js parses JSON of any depth, and overflows its stack when it writes it. */
export const deepest = 1000;

/** The options of every replay, wherever its records come from. */
export interface ReplayOptions<Data = EsimEvents, Tx = unknown> extends ImportFilter {
  /** Verifies captured requests, with the keys that were valid at `receivedAt`. Default: `ESIM_WEBHOOK_SECRET`. */
  readonly secret?: Secrets | undefined;
  /**
   * The name of the endpoint that received the events, as its receiver has it; ids are unique within it. Refused
   * (`source_unknown`) if the target has only events of other sources. Default `"default"`.
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

/** The options that have no default. */
export type WithoutDefault = keyof ImportFilter | "secret" | "mapping" | "store" | "signal";

export type ReplaySettings = SettingsOf<ReplayOptions<unknown>, WithoutDefault>;

const nonEmpty = z.string().check(z.minLength(1));
const names = z.optional(z.array(nonEmpty).check(z.minLength(1, "is empty, so nothing would be imported")));
const date = z.optional(z.date("expected a valid Date"));

const { catalog, store, logger, clock } = processorShape;

export const replayShape: OptionsShape<ReplaySettings> = {
  secret: z.optional(z.custom<Secrets>()), // the keyring checks it
  source: z._default(sourceOption, "default"),
  newSource: z._default(z.boolean(), false),
  toleranceSeconds: z._default(toleranceOption, defaultToleranceSeconds),
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
