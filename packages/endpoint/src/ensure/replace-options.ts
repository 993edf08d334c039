import type { EsimEvents, Logger } from "@esim-webhooks/core";
import {
  durationMs,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  safeLogger,
  silentLogger,
} from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { type EndpointWish, type WithoutDefault, wishShape } from "./options.ts";

/** What a replacement has reconciled: the arguments of `reconcile`. */
export interface ReplacePass {
  /** The first endpoint, or, when that is gone, the second one. */
  readonly endpoint: string;
  /** True for the first endpoint: what is still coming goes with it. */
  readonly includeComing: boolean;
  /** For the second endpoint: when it was registered. Where this pass ends, later ones begin. */
  readonly since?: Date;
  readonly signal: AbortSignal;
}

/** A report of `reconcile`, as far as a replacement has to know it. */
export type FirstReconciled = Pick<ReconcileReport, "interrupted" | "dryRun" | "failing" | "lost"> & {
  readonly ledger: Pick<ReconcileReport["ledger"], "rejected" | "invalid" | "conflict" | "unsettled">;
};

export interface ReplaceOptions<Data = EsimEvents, Reconciled extends FirstReconciled = ReconcileReport>
  extends EndpointWish<Data> {
  /**
   * Brings in all that the endpoint has:
   * `({ endpoint, ...pass }) => reconcile(api, endpoint, inbox, { state, since, ...pass })`.
   */
  readonly reconcile: (pass: ReplacePass) => Promise<Reconciled>;
  /**
   * Deletes the first endpoint even if events of it are lost with it: their handlers fail, the target cannot take
   * them, or the listing has forgotten them. Default false.
   */
  readonly acceptLoss?: boolean | undefined;
  /**
   * How late the listing may show a delivery, in ms. The first endpoint is reconciled that long after the second one is there.
   * Default one minute.
   */
  readonly listingLagMs?: number | undefined;
  /** How long the first endpoint's keys count on after it is deleted, in ms: for attempts that were under way. Default 2 minutes. */
  readonly overlapMs?: number | undefined;
  /** Gets a line for each step: pino, `console`, or anything of their shape. Default: silent. */
  readonly logger?: Logger | undefined;
}

export type ReplaceSettings<Reconciled extends FirstReconciled> = SettingsOf<
  ReplaceOptions<unknown, Reconciled>,
  WithoutDefault
>;

const shape: OptionsShape<ReplaceSettings<FirstReconciled>> = {
  ...wishShape,
  signal: z._default(
    z.instanceof(AbortSignal, { error: "expected an AbortSignal" }),
    () => new AbortController().signal,
  ),
  reconcile: z.custom<ReplaceSettings<FirstReconciled>["reconcile"]>(
    (value) => typeof value === "function",
    "expected a function",
  ),
  acceptLoss: z._default(z.boolean(), false),
  listingLagMs: z._default(durationMs(0), 60_000),
  overlapMs: z._default(durationMs(60_000), 120_000),
  logger: z._default(loggerOption, silentLogger),
};

/** Throws `invalid_option`. */
export function parseReplaceOptions<Reconciled extends FirstReconciled>(
  options: unknown,
): ReplaceSettings<Reconciled> {
  const settings = parseOptions("replaceEndpoint", shape, options) as ReplaceSettings<Reconciled>;
  return { ...settings, logger: safeLogger(settings.logger) };
}
