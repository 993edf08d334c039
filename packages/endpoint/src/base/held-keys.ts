import { isDeepStrictEqual } from "node:util";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { changeUnderWay } from "./change-under-way.ts";
import type { EndpointErrorCode } from "./errors.ts";
import type { WaitingClock } from "./waiting-clock.ts";

/** A step of a change, as it is in the record. */
type Change = object | undefined;

const pauseMs = 1000;
const mostFailures = 10;

/**
 * Writes the next record of a change of keys, if the record is still at the step `at`; undefined: no change is under way. What others
 * have done to the keys meanwhile stays. Each step needs a `change` of its own, by which a write is known whose answer was lost. Tries
 * for ten seconds while the store is unavailable: what is written may be the only copy of a secret. Resolves to the record.
 * Rejects with `change_under_way` when the record is at another step.
 */
export async function writeStep(
  keyStore: KeyStore,
  at: Change,
  next: (record: KeyRecord) => KeyRecord,
  clock: WaitingClock,
): Promise<KeyRecord> {
  let written: KeyRecord | undefined;
  for (let failures = 0; ; ) {
    try {
      const { record, version } = await present(keyStore);
      if (written !== undefined && isDeepStrictEqual(record.change, written.change)) return record;
      if (!isDeepStrictEqual(record.change, at))
        throw record.change === undefined ? finishedElsewhere() : changeUnderWay(record.change);
      const wanted = next(record);
      written = wanted;
      if (await keyStore.write(wanted, version)) return wanted;
      written = undefined;
    } catch (error) {
      failures += 1;
      if (!isUnavailable(error) || failures >= mostFailures) throw error;
      await clock.wait(pauseMs, new AbortController().signal);
    }
  }
}

/** The record and its version. Rejects with `missing_secret` if the store has none. */
export async function present(keyStore: KeyStore): Promise<{ record: KeyRecord; version: string }> {
  const stored = await keyStore.read();
  if (stored !== undefined) return stored;
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

function isUnavailable(error: unknown): boolean {
  return WebhookError.is(error) && error.code === "store_unavailable";
}
