import type { ApiClient } from "@esim-webhooks/client";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import {
  endKeys,
  fingerprintOf,
  hasKey,
  type KeyOwner,
  ownKeys,
  storedSecret,
  withKey,
} from "../base/endpoint-keys.ts";
import { arrivalUntil, holdOffUntil } from "../base/hold-off.ts";
import { askNewSecret } from "./ask-new-secret.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { type AtCall, type AtForm, type AtStored, begunOf } from "./rotation-change.ts";
import { presentKeys, writeNewSecret } from "./write-rotation.ts";

/** The new secret as the service wrote it, and the step that is in the key store. */
interface Received {
  readonly at: AtCall | AtForm;
  readonly secret: string;
  readonly rotatedAt: string | null;
}

/**
 * Asks for the new secret, and stores it in the write that ends the old keys and, soon, the 503 to unknown signatures. `listedAt` is
 * as `askNewSecret` takes it.
 */
export async function storeNewKey(
  api: Pick<ApiClient, "webhooks">,
  keyStore: KeyStore,
  begun: AtCall | AtForm,
  owner: KeyOwner,
  listedAt: string | undefined,
  settings: RotateSettings,
): Promise<AtStored> {
  const { clock, overlapMs, secretForm } = settings;
  const record = await presentKeys(keyStore); // before the call: nothing may come between the secret and its write
  const received =
    begun.step === "form"
      ? { at: begun, secret: begun.secret, rotatedAt: begun.rotatedAt }
      : await receive(api, keyStore, begun, listedAt, settings);
  const secret = storedSecret(received.secret, secretForm, record);
  if (secret === undefined) return keepUnread(keyStore, received, settings);
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
  const isStored = (now: KeyRecord) => hasKey(now, change.newKey);
  await writeNewSecret(keyStore, received.at, stored, isStored, clock);
  return change;
}

async function receive(
  api: Pick<ApiClient, "webhooks">,
  keyStore: KeyStore,
  begun: AtCall,
  listedAt: string | undefined,
  settings: RotateSettings,
): Promise<Received> {
  const { endpoint, at } = await askNewSecret(api, keyStore, begun, listedAt, settings);
  const { signingSecret, updatedAt } = endpoint;
  return { at, secret: signingSecret, rotatedAt: updatedAt === at.updatedAt ? null : updatedAt };
}

/** A secret in no form that a receiver could read is kept all the same: the service may not show it again. */
async function keepUnread(
  keyStore: KeyStore,
  { at, secret, rotatedAt }: Received,
  { clock }: RotateSettings,
): Promise<never> {
  const until = holdOffUntil(clock.now());
  const change: AtForm = { ...begunOf(at), step: "form", secret, rotatedAt };
  const kept = (record: KeyRecord): KeyRecord => ({ ...record, rotatingUntil: until, change: { ...change } });
  await writeNewSecret(keyStore, at, kept, () => false, clock);
  throw new WebhookError(
    "invalid_secret",
    "The service's new secret cannot be read in the expected form. It is kept in the key store, and no receiver uses it yet.",
    `Rotate again with secretForm (--secret-form) before ${until}: hex, base64 or utf8. Receivers answer 503 until then.`,
  );
}
