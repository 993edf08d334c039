import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { finished, hasKey } from "../change/endpoint-keys.ts";
import { writeSecret, writeStep } from "../change/write-record.ts";
import type { AtStored, RotationChange } from "./rotation-change.ts";

/** Writes the next record of a rotation, as `writeStep` does. Rejects with `change_under_way` if another process has gone on. */
export async function writeRotation(
  keyStore: KeyStore,
  at: RotationChange | undefined,
  next: (record: KeyRecord) => KeyRecord,
  clock: WaitingClock,
): Promise<KeyRecord> {
  return (await writeStep(keyStore, at, next, clock)) ?? (await rejectMoved(keyStore));
}

/** Writes the step of a rotation that has the new secret, as `writeSecret` does. Rejects as `writeRotation` does. */
export async function writeNewSecret(
  keyStore: KeyStore,
  at: RotationChange,
  next: (record: KeyRecord) => KeyRecord,
  isOver: (record: KeyRecord) => boolean,
  clock: WaitingClock,
): Promise<KeyRecord> {
  return (await writeSecret(keyStore, at, next, isOver, clock)) ?? (await rejectMoved(keyStore));
}

/** Ends a rotation, unless another process has ended it. */
export async function endRotation(keyStore: KeyStore, at: AtStored, clock: WaitingClock): Promise<KeyRecord> {
  const written = await writeStep(keyStore, at, (record) => finished(record, clock.now()), clock);
  if (written !== undefined) return written;
  const record = await presentKeys(keyStore);
  if (record.change === undefined && hasKey(record, at.newKey)) return record;
  return rejectMoved(keyStore);
}

async function rejectMoved(keyStore: KeyStore): Promise<never> {
  const { change } = await presentKeys(keyStore);
  throw change === undefined ? endedElsewhere() : changeUnderWay(change);
}

/** The record of the key store. Rejects with `missing_secret` if it has none. */
export async function presentKeys(keyStore: KeyStore): Promise<KeyRecord> {
  const stored = await keyStore.read();
  if (stored !== undefined) return stored.record;
  throw new WebhookError(
    "missing_secret",
    "The key store has no keys, so no receiver reads it.",
    'Write the endpoint\'s secret where the receivers read it. If the secret is lost, write { "keys": [] }.',
  );
}

function endedElsewhere(): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "change_under_way",
    "The key store no longer has this rotation: another process has finished it, or another program has written the keys.",
    "Rotate again, unless the rotation was finished elsewhere.",
  );
}
