import { type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { durationMs, type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import type { SettingsOf } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { reconcileWhenFree } from "../reconcile/reconcile-when-free.ts";
import { type EndpointWish, type WithoutDefault, wishShape } from "./ensure-endpoint.ts";

/** A pass that a replacement asks for: the arguments of `reconcile`. */
export interface ReplacePass {
  /** The first endpoint, or, when that is gone, the second one. */
  readonly endpoint: string;
  /** True for the first endpoint: the service does not send what is still coming once that endpoint is deleted. */
  readonly includeComing: boolean;
  /** For the second endpoint: when it was registered. Where this pass ends, later ones begin. */
  readonly since?: Date;
  /** Aborts when the replacement is to stop. */
  readonly signal: AbortSignal;
}

/** The part of a report of `reconcile` that a replacement reads. */
export type FirstReconciled = Pick<ReconcileReport, "interrupted" | "dryRun" | "failing" | "lost"> & {
  readonly ledger: Pick<ReconcileReport["ledger"], "rejected" | "invalid" | "conflict" | "unsettled">;
};

export interface ReplaceOptions<Data = EsimEvents, Reconciled extends FirstReconciled = ReconcileReport>
  extends EndpointWish<Data> {
  /**
   * Recovers all events of the endpoint that the target lacks:
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
  /** How long the first endpoint's keys stay valid after it is deleted, in ms: for attempts that were under way. Default 2 minutes. */
  readonly overlapMs?: number | undefined;
}

export type ReplaceSettings<Reconciled extends FirstReconciled> = SettingsOf<
  ReplaceOptions<unknown, Reconciled>,
  WithoutDefault
>;

const shape: OptionsShape<ReplaceSettings<FirstReconciled>> = {
  ...wishShape,
  reconcile: z.custom<ReplaceSettings<FirstReconciled>["reconcile"]>(
    (value) => typeof value === "function",
    "expected a function",
  ),
  acceptLoss: z._default(z.boolean(), false),
  listingLagMs: z._default(durationMs(0), 60_000),
  overlapMs: z._default(durationMs(60_000), 120_000),
};

/** Throws `invalid_option`. */
export function parseReplaceOptions<Reconciled extends FirstReconciled>(
  options: unknown,
): ReplaceSettings<Reconciled> {
  return parseOptions("replaceEndpoint", shape, options) as ReplaceSettings<Reconciled>;
}

/** Reconciles the first endpoint, after the pass of a worker that is under way. Throws `not_settled` if the pass is not complete, or, without `acceptLoss`, if events would be lost. */
export async function reconcileFirst<Reconciled extends FirstReconciled>(
  endpoint: string,
  settings: ReplaceSettings<Reconciled>,
): Promise<Reconciled> {
  const { reconcile, signal, acceptLoss } = settings;
  const pass = { endpoint, includeComing: true, signal };
  const reconciled = await reconcileWhenFree(() => reconcile(pass), settings);
  signal.throwIfAborted();
  const { interrupted, dryRun, ledger } = reconciled;
  if (interrupted || dryRun || ledger.unsettled > 0) {
    throw notSettled(
      endpoint,
      `Not all that the endpoint ${endpoint} has was reconciled`,
      "Let reconcile come to its end, without dryRun.",
    );
  }
  const loss = lossWith(endpoint, reconciled);
  if (loss === undefined || acceptLoss) return reconciled;
  throw notSettled(
    endpoint,
    loss,
    "Fix what the log says about them. With { since }, events whose handlers failed are tried immediately. With { acceptLoss: true }, the endpoint is deleted all the same.",
    "acceptLoss",
  );
}

/** Describes the loss that deleting the endpoint would cause; undefined: none. */
function lossWith(endpoint: string, { failing, ledger, lost }: FirstReconciled): string | undefined {
  const unhandled = Math.max(failing, ledger.rejected); // `failing` includes events that this pass has not read, `rejected` those that another process is handling
  if (unhandled > 0) return `The handlers of ${unhandled} events of the endpoint ${endpoint} failed`;
  const notAccepted = ledger.invalid + ledger.conflict;
  if (notAccepted > 0) {
    return `The target did not accept ${notAccepted} of the deliveries of the endpoint ${endpoint}: they are not valid events, or their ids are those of other events`;
  }
  if (lost === null) return undefined;
  return `The listing of the endpoint ${endpoint} no longer shows events from ${lost.from} to ${lost.to} that were not recovered`;
}

export function notSettled(
  endpoint: string,
  problem: string,
  remedy: string,
  option?: string,
): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "not_settled",
    `${problem}, so ${endpoint} was not deleted.`,
    `${remedy} Run this again: it continues.`,
    { endpoint, option },
  );
}
