import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import { type EndpointErrorCode, hasCode } from "../base/errors.ts";
import { endKeys, fingerprintOf, ownerIn } from "../change/endpoint-keys.ts";
import { freshKey, holdOffUntil } from "../change/service-call.ts";
import { reconcileInTurn } from "../reconcile/reconcile-in-turn.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { checkHeldOff } from "./check-held-off.ts";
import { ownedEndpoint } from "./owned-endpoint.ts";
import { refuseWithoutWatermark } from "./refuse-without-watermark.ts";
import {
  checkRotateArguments,
  parseRotateOptions,
  type RotateOptions,
  type RotateSettings,
  type RotationReconciled,
} from "./rotate-options.ts";
import { type AtCall, type RotationChange, rotationIn } from "./rotation-change.ts";
import { type StepIn, storeNewKey } from "./store-new-key.ts";
import { type NewKeyUse, watchNewKey } from "./watch-new-key.ts";
import { endRotation, presentKeys, writeRotation } from "./write-rotation.ts";

/** What a rotation did. Plain JSON, without secrets. */
export interface RotationReport<Reconciled extends RotationReconciled = ReconcileReport> {
  readonly endpoint: string;
  /** The step at which an earlier run was found and continued; null: this run began the rotation. */
  readonly continued: RotationChange["step"] | null;
  /** When the rotation began: a date-time. */
  readonly startedAt: string;
  /** The fingerprint of the new key. */
  readonly newKey: string;
  /** The fingerprints of the keys that were replaced, and are gone. */
  readonly oldKeys: readonly string[];
  /** The fingerprints of other keys in the store: they may belong to other endpoints. */
  readonly otherKeys: readonly string[];
  /** What became of deliveries with the new key. */
  readonly newKeyUse: NewKeyUse;
  /** What `reconcile` resolved to; null if there was none. */
  readonly reconciled: Reconciled | null;
}

/**
 * Replaces the secret of an endpoint so that every event survives it. Each step is in the key store before the next one, so
 * after a kill at any moment the next run continues; when no rotation is under way, it begins one. Takes `overlapMs` and some seconds.
 *
 * 1. Receivers answer 503 to unknown signatures, which is checked (`checkReceivers`). 2. The service replaces the secret. 3. The new key is stored, and the old ones get
 * an end. 4. The listing shows what became of deliveries with the new key, until that end. 5. What was missed is reconciled. 6. The old
 * keys go.
 *
 * The receivers have to read `keyStore`. Keys of other endpoints stay (`StoredKey.endpoint`); the only key without
 * an endpoint is replaced if the client has no other one. Rejects with an `ApiError` or its code when the service cannot be asked, and with `change_under_way`,
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
  const { logger } = settings;
  const record = await presentKeys(keyStore);
  const found = rotationIn(record, endpointReference);
  const { endpoint, isOnly } = await ownedEndpoint(api, endpointReference, settings.signal).catch(
    (error: unknown) => endIfGone(error, keyStore, found, settings),
  );
  const named = { endpoint: endpointReference };
  if (!endpoint.active) logger.warn(named, "The endpoint is not active: the service sends it nothing.");
  if (found !== undefined)
    logger.info({ ...named, step: found.step }, "Continues the rotation that was begun.");

  const begun = found === undefined ? await begin(keyStore, endpoint, settings) : { at: found, record };
  let { at }: { at: RotationChange } = begun;
  if (at.step === "call" || at.step === "form") {
    const owner = ownerIn(begun.record, endpointReference, isOnly, settings.clock.now());
    const listedAt = found && endpoint.updatedAt;
    at = await storeNewKey(api, keyStore, { at, record: begun.record }, owner, listedAt, settings);
    logger.info({ ...named, key: at.newKey }, "The new key is stored.");
  }
  const newKeyUse = await watchNewKey(api, at, settings);
  logger.info({ ...named, key: at.newKey, newKeyUse }, "Looked for deliveries with the new key.");
  const reconciled = await reconcileAfter(options, settings);
  const { keys } = await endRotation(keyStore, at, settings.clock);
  logger.info({ ...named, key: at.newKey }, "The rotation is finished.");
  const { startedAt, newKey, oldKeys } = at;
  const otherKeys = keys.map(fingerprintOf).filter((key) => key !== newKey);
  return {
    endpoint: endpointReference,
    continued: found?.step ?? null,
    startedAt,
    newKey,
    oldKeys,
    otherKeys,
    newKeyUse,
    reconciled,
  };
}

/** Step 1: from now on an unknown signature is answered 503, or nothing is begun. */
async function begin(
  keyStore: KeyStore,
  { webhookEndpointReference: endpoint, url, updatedAt }: WebhookEndpoint,
  settings: RotateSettings,
): Promise<StepIn<AtCall>> {
  const { clock, state } = settings;
  if (state !== undefined) await refuseWithoutWatermark(state, endpoint);
  if (settings.checkReceivers) await checkHeldOff(keyStore, url, settings);
  const nowMs = clock.now();
  const at: AtCall = {
    kind: "rotate",
    endpoint,
    step: "call",
    startedAt: new Date(nowMs).toISOString(),
    ...freshKey(nowMs),
    updatedAt,
  };
  const held = { rotatingUntil: holdOffUntil(nowMs), change: { ...at } };
  const record = await writeRotation(keyStore, undefined, (now) => ({ ...now, ...held }), clock);
  return { at, record };
}

/** Step 5. The old keys have ended by now, so the listing has had time to show what they cost. */
async function reconcileAfter<Reconciled extends RotationReconciled>(
  { reconcile }: RotateOptions<Reconciled>,
  settings: RotateSettings,
): Promise<Reconciled | null> {
  if (reconcile === undefined) return null;
  const { signal } = settings;
  const reconciled = await reconcileInTurn(() => reconcile({ signal }), settings);
  signal.throwIfAborted();
  if (!reconciled.interrupted && !reconciled.dryRun) return reconciled;
  throw new WebhookError<EndpointErrorCode>(
    "not_settled",
    `What the rotation may have cost was not reconciled: the pass was ${reconciled.dryRun ? "a dry run" : "interrupted"}.`,
    "Rotate again: it reconciles again. The new key is in use meanwhile.",
  );
}

/** An endpoint that was deleted has no rotation to finish: it is ended, so that the key store is free, and its keys end. Rejects with the error. */
async function endIfGone(
  error: unknown,
  keyStore: KeyStore,
  found: RotationChange | undefined,
  { clock, logger, overlapMs }: RotateSettings,
): Promise<never> {
  if (found !== undefined && hasCode(error, "endpoint_unknown")) {
    const endMs = clock.now() + overlapMs;
    const owner = { endpoint: found.endpoint, isOnly: false };
    await writeRotation(keyStore, found, ({ keys }) => ({ keys: endKeys(keys, owner, endMs) }), clock);
    logger.warn(
      { endpoint: found.endpoint, endsAt: new Date(endMs).toISOString() },
      "The endpoint is gone, so its rotation was ended, and the keys that name it end. The others stay.",
    );
  }
  throw error;
}
