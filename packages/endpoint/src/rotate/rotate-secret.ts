import type { ApiClient } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";
import { advance } from "../change/advance.ts";
import { fingerprintOf } from "../change/endpoint-keys.ts";
import { keysInEnvironment } from "../change/keys-in-environment.ts";
import { readKeys } from "../change/write-record.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { holdOffAndCheck } from "./check-receivers.ts";
import {
  checkRotateArguments,
  parseRotateOptions,
  type RotateOptions,
  type RotationReconciled,
  refuseWithoutWatermark,
} from "./rotate-options.ts";
import { presentRecord, type RotationRecord, rotationIn } from "./rotation-record.ts";
import { lookUp, lookUpExisting } from "./rotation-run.ts";
import { rotation } from "./rotation-steps.ts";
import type { NewKeyUse } from "./watch-new-key.ts";

/** The report of a rotation. Plain JSON, without secrets. */
export interface RotationReport<Reconciled extends RotationReconciled = ReconcileReport> {
  /** The reference of the endpoint. */
  readonly endpoint: string;
  /** The step at which an earlier run was found and continued; null: this run began the rotation. */
  readonly continued: RotationRecord["step"] | null;
  /** When the rotation began: a date-time. */
  readonly startedAt: string;
  /** The fingerprint of the new key. */
  readonly newKey: string;
  /** The fingerprints of the keys that were replaced, and are gone. */
  readonly oldKeys: readonly string[];
  /** The fingerprints of other keys in the store: they may belong to other endpoints. */
  readonly otherKeys: readonly string[];
  /** The fate of deliveries with the new key. */
  readonly newKeyUse: NewKeyUse;
  /** The result of the option `reconcile`; null without that option. */
  readonly reconciled: Reconciled | null;
}

/**
 * Replaces the secret of an endpoint so that every event survives it. Each step is in the key store before the next one, so
 * after a kill at any moment the next run continues; when no rotation is under way, it begins one. Takes `overlapMs` and the time of the pass.
 *
 * 1. Receivers answer 503 to unknown signatures, which is checked (`checkReceivers`). 2. The service replaces the secret. 3. The new key is stored, and the old ones get
 * an end. 4. The listing shows what became of deliveries with the new key, until that end. 5. What was missed is reconciled. 6. The old
 * keys are removed. In the key store, 1 and 2 are the step `call`, 3 writes `stored`, and 4 to 6 happen in `stored`.
 *
 * The receivers have to read `keyStore`. Keys of other endpoints stay (`StoredKey.endpoint`); the only key without
 * an endpoint is replaced if the client has no other endpoint. Rejects with an `ApiError`, or its code, when a call of the service fails, and with `change_under_way`,
 * `endpoint_unknown`, `invalid_option`, `no_watermark` (`state` has none; nothing was changed), `missing_secret` (the key store has no record), `invalid_secret` (the new secret is of
 * another form: it is kept, and the next run takes it with `secretForm`), `not_settled` (`reconcile` was interrupted: the next run does
 * it again), `receivers_not_ready` (nothing was changed) or `store_unavailable`.
 */
export async function rotateSecret<Reconciled extends RotationReconciled = ReconcileReport>(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  keyStore: KeyStore,
  options: RotateOptions<Reconciled> = {},
): Promise<RotationReport<Reconciled>> {
  checkRotateArguments("rotateSecret", api, endpointReference, keyStore);
  const settings = parseRotateOptions("rotateSecret", options);
  const { state, checkReceivers, signal, logger } = settings;
  const store = keysInEnvironment(api, keyStore);
  const stored = await readKeys(store);
  const endpoint = endpointReference; // as it is called in reports, log lines and records
  const found = rotationIn(presentRecord(stored), endpoint);
  const look = found === undefined ? lookUpExisting : lookUp;
  const { listed, isOnly } = await look(api, endpoint, signal);
  if (listed?.active === false)
    logger.warn({ endpoint }, "The endpoint is not active: the service sends it nothing.");
  if (found !== undefined)
    logger.info({ endpoint, step: found.step }, "Continues the rotation that was begun.");
  else await refuseWithoutWatermark(api, state, endpoint);
  if (found === undefined && checkReceivers && listed !== undefined)
    await holdOffAndCheck(store, listed.url, settings);

  const run = {
    ...settings,
    listed,
    isOnly,
    api,
    endpoint,
    hasBegun: found !== undefined,
    idempotencyKeysMade: new Set<string>(),
    answersWithoutSecret: 0,
  };
  const { at, keys, newKeyUse, reconciled } = await advance(store, rotation, run, stored);
  const { startedAt, newKey, oldKeys } = at;
  return {
    endpoint,
    continued: found?.step ?? null,
    startedAt,
    newKey,
    oldKeys,
    otherKeys: keys.map(fingerprintOf).filter((key) => key !== newKey),
    newKeyUse,
    reconciled: reconciled as Reconciled | null, // what the option `reconcile` resolved to
  };
}
