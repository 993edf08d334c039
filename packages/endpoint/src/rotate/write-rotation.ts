import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { changeUnderWay } from "../base/change-under-way.ts";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { writeStep } from "../base/write-step.ts";
import type { RotationChange } from "./rotation-change.ts";

/** Writes the next record of a rotation, as `writeStep` does. Rejects with `change_under_way` if another process has gone on. */
export async function writeRotation(
  keyStore: KeyStore,
  at: RotationChange | undefined,
  next: (record: KeyRecord) => KeyRecord,
  clock: WaitingClock,
): Promise<KeyRecord> {
  const written = await writeStep(keyStore, at, next, clock);
  if (written !== undefined) return written;
  const { change } = await presentKeys(keyStore);
  throw change === undefined ? finishedElsewhere() : changeUnderWay(change);
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

function finishedElsewhere(): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "change_under_way",
    "Another process has finished the change of the keys that this one was at.",
    "Nothing needs to be done: the key store has the result.",
  );
}
