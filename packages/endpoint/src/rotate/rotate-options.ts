import { type KeyStore, type StateStore, stateInEnvironment, WebhookError } from "@esim-webhooks/core";
import { durationMs, type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import type { SettingsOf } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { environmentOf } from "../base/environment-of.ts";
import type { EndpointErrorCode } from "../base/errors.ts";
import { type ChangeOptions, changeShape, checkClient } from "../base/options.ts";
import { readWatermark } from "../reconcile/pass-state.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";

/** The part of a report of `reconcile` that a rotation reads. */
export type RotationReconciled = Pick<ReconcileReport, "interrupted" | "dryRun">;

/** Options of `rotateSecret`. */
export interface RotateOptions<Reconciled extends RotationReconciled = ReconcileReport>
  extends ChangeOptions {
  /**
   * Recovers what was missed, once the old keys have ended: such as
   * `({ signal }) => reconcile(api, endpointReference, inbox, { state, signal })`, without `since`. Its result is in the
   * report. Needs `state`. Default: nothing is recovered; reconcile yourself then.
   */
  readonly reconcile?: ((pass: RotationPass) => Promise<Reconciled>) | undefined;
  /** Where `reconcile` keeps its watermark. If this store has none, no rotation is begun, since the pass could not know how far back to look. */
  readonly state?: Pick<StateStore, "read"> | undefined;
  /**
   * Checks first that the receivers read the key store and that their clocks are right: deliveries with an unknown signature are posted to the
   * endpoint's URL. A 401 or a wrong clock stops the rotation. Pass false if something other than a receiver answers 401 there. Default true.
   */
  readonly checkReceivers?: boolean | undefined;
  /** How long the old keys stay valid after the new one is stored, in ms: for attempts that were under way. At least a minute. Default 2 minutes. */
  readonly overlapMs?: number | undefined;
}

/** The pass that a rotation asks for. */
export interface RotationPass {
  /** Aborts when the rotation is to stop. */
  readonly signal: AbortSignal;
}

export type RotateSettings = SettingsOf<RotateOptions, "reconcile" | "state" | "secretForm">;

const shape: OptionsShape<RotateSettings> = {
  ...changeShape,
  reconcile: z.optional(
    z.custom<NonNullable<RotateOptions["reconcile"]>>(
      (value) => typeof value === "function",
      "expected a function",
    ),
  ),
  state: z.optional(withMethods<Pick<StateStore, "read">>("read")),
  checkReceivers: z._default(z.boolean(), true),
  overlapMs: z._default(durationMs(60_000), 120_000),
};

export function parseRotateOptions(caller: string, options: unknown): RotateSettings {
  const settings = parseOptions(caller, shape, options);
  if (settings.reconcile !== undefined && settings.state === undefined) {
    throw invalidRotateOption(
      `${caller}: reconcile needs state`,
      "Pass the state store that reconcile is given.",
    );
  }
  return settings;
}

/** Throws `invalid_option` for arguments that plainly cannot be right. */
export function checkRotateArguments(
  caller: string,
  api: unknown,
  endpointReference: unknown,
  keyStore: unknown,
): asserts keyStore is KeyStore {
  checkClient(caller, api, "webhooks");
  if (typeof endpointReference !== "string" || endpointReference === "") {
    throw invalidRotateOption(
      `${caller}: there is no endpoint reference`,
      "Pass the endpoint's webhookEndpointReference: api.webhooks.list() shows it.",
    );
  }
  const { read, write } = (keyStore ?? {}) as Partial<KeyStore>;
  if (typeof read !== "function" || typeof write !== "function") {
    throw invalidRotateOption(
      `${caller}: this key source cannot be changed`,
      "Pass a key store: fileKeySource(path) or stateKeySource(stateStore), which the receivers read, too.",
    );
  }
}

function invalidRotateOption(problem: string, remedy: string): WebhookError {
  return new WebhookError("invalid_option", `${problem}.`, remedy);
}

/** Rejects with `no_watermark` if the endpoint was never reconciled with this state store. */
export async function refuseWithoutWatermark(
  api: object,
  state: Pick<StateStore, "read"> | undefined,
  endpoint: string,
): Promise<void> {
  if (state === undefined) return;
  if ((await readWatermark(stateInEnvironment(state, environmentOf(api)), endpoint)) !== undefined) return;
  throw new WebhookError<EndpointErrorCode>(
    "no_watermark",
    `The endpoint ${JSON.stringify(endpoint)} was never reconciled with this state store, so it is not known how far back to look for what the rotation may cost. The secret was not replaced.`,
    "Reconcile it once with { since }, the time at which your receiver began to store events. Then rotate again.",
    { option: "since", endpoint },
  );
}
