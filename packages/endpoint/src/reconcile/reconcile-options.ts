import {
  type DedupeStore,
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  type Processor,
  type StateStore,
  stateInEnvironment,
  WebhookError,
} from "@esim-webhooks/core";
import { durationMs, type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import { ownSourceOption, processorShape, type SettingsOf } from "@esim-webhooks/core/internal";
import type { ReplayOptions } from "@esim-webhooks/import";
import * as z from "zod/mini";
import { environmentOf } from "../base/environment-of.ts";

/** Where missing events go: a durable inbox, handlers with a durable store, or a processor with one. */
// as in core's Target, NoInfer is not around the union: otherwise editors would complete no event types
export type ReconcileTarget<Data = EsimEvents, Tx = unknown> =
  | (Pick<InboxWriter, "put" | "sources" | "capabilities"> & Partial<Pick<InboxWriter, "ready">>)
  | NoInfer<Handlers<Data, Tx>>
  | NoInfer<Processor<Data>>;

/** The options that `reconcile` and `createReconciler` have in common. */
export interface ReconcileSetup<Data = EsimEvents, Tx = unknown>
  extends Pick<ReplayOptions<Data, Tx>, "catalog" | "concurrency" | "logger" | "clock"> {
  /** Remembers the watermark, and which process makes a pass. Must be durable. */
  readonly state: StateStore;
  /**
   * The name of the endpoint: the same as the option `source` of its receiver. Ids are unique within it. Refused (`source_unknown`) if
   * the target has events, but only of other sources, or if the endpoint was reconciled with another source. Default: that of receivers.
   */
  readonly source?: string | undefined;
  /** Accepts a `source` of which the target has no events yet. If the endpoint was reconciled with another source, the passes start again, at `since`. Default false. */
  readonly newSource?: boolean | undefined;
  /**
   * The event types that the endpoint must be subscribed to: the report has each period in which it was not, once that has ended. Families and
   * `*` are left out, so `Object.keys(handlers)` of a worker will do. Default: those of the handlers, if they are the target; else none.
   */
  readonly eventTypes?: readonly string[] | undefined;
  /** With handlers: remembers done ids. Must be durable. Default: none, which is refused. */
  readonly store?: DedupeStore<Tx> | undefined;
  /**
   * With handlers or a processor: how long a handler may take, in ms. Then its `context.signal` aborts, and it has failed. Default
   * 25,000, as behind a receiver.
   */
  readonly deadlineMs?: number | undefined;
  /** Also recovers what the service will send again: after an outage, without waiting for the next attempt. Default false. */
  readonly includeComing?: boolean | undefined;
  /**
   * How far beyond the watermark a pass to the watermark reads, in ms: longer than a delivery may stay hidden from the listing, and than
   * the order of the listing may be off. The recent passes in between use 10 minutes of it at most; the daily full pass finds what is further
   * off. Default 3,600,000 (an hour).
   */
  readonly overlapMs?: number | undefined;
  /** How long a killed process prevents others from reconciling the endpoint, in ms. Default 30,000. */
  readonly leaseMs?: number | undefined;
}

export interface ReconcileOptions<Data = EsimEvents, Tx = unknown> extends ReconcileSetup<Data, Tx> {
  /**
   * How far back to go at least, wherever earlier passes have been: deliveries that show a time since then. Required for the
   * first pass of an endpoint, because events from before your receiver began would run again. With it, the pass also tries all events whose
   * handlers failed or were missing. At most a day in the future (`invalid_option`). Default: the watermark.
   */
  readonly since?: Date | undefined;
  /** Reads the listing, but changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
  /**
   * Ends the report of all gaps that earlier passes have found: support has replayed their events, or they are not needed. A gap that
   * this pass finds is still reported. Default false.
   */
  readonly acknowledgeGaps?: boolean | undefined;
  /** Stops the pass: running handlers finish, or reach their deadline, and the report says `interrupted`; also while it waits for another pass. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReconcilerOptions<Data = EsimEvents, Tx = unknown> extends ReconcileSetup<Data, Tx> {
  /** Where the first pass of the endpoint begins; later ones begin at the watermark. Default: there was a first pass already. */
  readonly since?: Date | undefined;
  /** How long to wait after a pass, in ms. Default 300,000 (5 minutes). */
  readonly everyMs?: number | undefined;
}

type WithoutDefault = "store" | "eventTypes";
export type SetupSettings = SettingsOf<ReconcileSetup<unknown>, WithoutDefault>;
export type ReconcileSettings = SettingsOf<ReconcileOptions<unknown>, WithoutDefault | "since" | "signal">;
export type ReconcilerSettings = SettingsOf<ReconcilerOptions<unknown>, WithoutDefault | "since">;

const { catalog, store, logger, clock } = processorShape;

const setupShape: OptionsShape<SetupSettings> = {
  catalog,
  store,
  logger,
  clock,
  state: withMethods<StateStore>("ready", "read", "write"),
  source: ownSourceOption,
  newSource: z._default(z.boolean(), false),
  eventTypes: z.optional(z.array(z.string())),
  concurrency: z._default(z.int().check(z.gte(1)), 1),
  deadlineMs: z._default(durationMs(1), 25_000),
  includeComing: z._default(z.boolean(), false),
  overlapMs: z._default(durationMs(0), 60 * 60_000),
  leaseMs: z._default(durationMs(30), 30_000),
};

const date = z.optional(z.date("expected a valid Date"));

const reconcileShape: OptionsShape<ReconcileSettings> = {
  ...setupShape,
  since: date,
  dryRun: z._default(z.boolean(), false),
  acknowledgeGaps: z._default(z.boolean(), false),
  signal: z.optional(z.instanceof(AbortSignal)),
};

const reconcilerShape: OptionsShape<ReconcilerSettings> = {
  ...setupShape,
  since: date,
  everyMs: z._default(durationMs(1), 5 * 60_000),
};

export function parseReconcileOptions(api: object, options: unknown): ReconcileSettings {
  const settings = parseOptions("reconcile", reconcileShape, options);
  refuseFuture("reconcile", settings);
  return { ...settings, state: stateInEnvironment(settings.state, environmentOf(api)) };
}

export function parseReconcilerOptions(api: object, options: unknown): ReconcilerSettings {
  const settings = parseOptions("createReconciler", reconcilerShape, options);
  refuseFuture("createReconciler", settings);
  return { ...settings, state: stateInEnvironment(settings.state, environmentOf(api)) };
}

/** How far our own clock may be behind that of the service, in ms. */
const mostBehindMs = 24 * 60 * 60_000;

/** Throws `invalid_option` for a `since` more than a day ahead: all events would be left out. */
function refuseFuture(caller: string, { since, clock }: Pick<ReconcileSettings, "since" | "clock">): void {
  if (since === undefined || since.getTime() <= clock.now() + mostBehindMs) return;
  throw new WebhookError(
    "invalid_option",
    `"since" is ${since.toISOString()}, which is in the future: every event until then would be left out, for good.`,
    "Pass the time when your receiver began to store events.",
    { where: caller },
  );
}
