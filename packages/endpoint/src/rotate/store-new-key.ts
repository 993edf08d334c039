import type { ApiClient } from "@esim-webhooks/client";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import {
  endKeys,
  fingerprintOf,
  hasGotKey,
  type KeyOwner,
  ownKeys,
  storedSecret,
  withKey,
} from "../change/endpoint-keys.ts";
import { arrivalUntil, freshKey, holdOffUntil } from "../change/service-call.ts";
import { askNewSecret, mayBeReplaced } from "./ask-new-secret.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { type AtCall, type AtForm, type AtStored, begunOf } from "./rotation-change.ts";
import { writeNewSecret, writeRotation } from "./write-rotation.ts";

/** The new secret as the service wrote it, and the step that is in the key store. */
interface Received {
  readonly at: AtCall | AtForm;
  readonly secret: string;
  readonly rotatedAt: string | null;
}

/** A step, and the record that was read or written with it. */
export interface StepIn<Step> {
  readonly at: Step;
  readonly record: KeyRecord;
}

/**
 * Asks for the new secret, and stores it in the write that ends the old keys and, soon, the 503 to unknown signatures. `listedAt` is
 * as `askNewSecret` takes it.
 */
export async function storeNewKey(
  api: Pick<ApiClient, "webhooks">,
  keyStore: KeyStore,
  { at, record }: StepIn<AtCall | AtForm>,
  owner: KeyOwner,
  listedAt: string | undefined,
  settings: RotateSettings,
): Promise<AtStored> {
  const { clock, overlapMs, secretForm } = settings;
  const received = await receive(api, keyStore, at, listedAt, settings);
  /** Whether another process has finished the rotation. */
  const isOver = (now: KeyRecord) => hasGotKey(now, record, owner.endpoint);
  const secret = storedSecret(received.secret, secretForm, record);
  if (secret === undefined) return keepUnread(keyStore, received, isOver, settings);
  const nowMs = clock.now();
  const endMs = nowMs + overlapMs;
  const change: AtStored = {
    ...begunOf(received.at),
    rotatedAt: received.rotatedAt,
    step: "stored",
    newKey: fingerprintOf(secret),
    oldKeys: ownKeys(record.keys, owner).map(fingerprintOf),
    oldKeysEndAt: new Date(endMs).toISOString(),
  };
  const stored = ({ keys }: KeyRecord): KeyRecord => ({
    keys: withKey(endKeys(keys, owner, endMs), secret, owner.endpoint),
    rotatingUntil: arrivalUntil(nowMs),
    change: { ...change },
  });
  await writeNewSecret(keyStore, received.at, stored, isOver, clock);
  return change;
}

async function receive(
  api: Pick<ApiClient, "webhooks">,
  keyStore: KeyStore,
  begun: AtCall | AtForm,
  listedAt: string | undefined,
  settings: RotateSettings,
): Promise<Received> {
  if (begun.step === "form") {
    const { secret, rotatedAt } = begun;
    if (!mayBeReplaced(rotatedAt ?? begun.updatedAt, listedAt)) return { at: begun, secret, rotatedAt };
    const again = await callAgain(keyStore, begun, settings);
    return receive(api, keyStore, again, undefined, settings);
  }
  const { endpoint, at } = await askNewSecret(api, keyStore, begun, listedAt, settings);
  const { signingSecret, updatedAt } = endpoint;
  return { at, secret: signingSecret, rotatedAt: updatedAt === at.updatedAt ? null : updatedAt };
}

/** Gives up a kept secret that somebody else may have replaced since. */
async function callAgain(
  keyStore: KeyStore,
  begun: AtForm,
  { clock, logger }: RotateSettings,
): Promise<AtCall> {
  logger.warn(
    { endpoint: begun.endpoint },
    "Somebody else may have replaced the secret since the one that was kept: it is replaced again.",
  );
  const nowMs = clock.now();
  const change: AtCall = { ...begunOf(begun), ...freshKey(nowMs), step: "call" };
  const held = { rotatingUntil: holdOffUntil(nowMs), change: { ...change } };
  await writeRotation(keyStore, begun, (record) => ({ ...record, ...held }), clock);
  return change;
}

/** A secret in no form that a receiver could read is kept all the same: the service may not show it again. */
async function keepUnread(
  keyStore: KeyStore,
  { at, secret, rotatedAt }: Received,
  isOver: (record: KeyRecord) => boolean,
  { clock }: RotateSettings,
): Promise<never> {
  const until = holdOffUntil(clock.now());
  const change: AtForm = { ...begunOf(at), step: "form", secret, rotatedAt };
  const kept = (record: KeyRecord): KeyRecord => ({ ...record, rotatingUntil: until, change: { ...change } });
  await writeNewSecret(keyStore, at, kept, isOver, clock);
  throw new WebhookError(
    "invalid_secret",
    "The service's new secret cannot be read in the expected form. It is kept in the key store, and no receiver uses it yet.",
    `Rotate again with secretForm before ${until}: hex, base64 or utf8. Receivers answer 503 until then.`,
  );
}
