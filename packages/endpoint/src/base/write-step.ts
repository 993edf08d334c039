import { isDeepStrictEqual } from "node:util";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import type { WaitingClock } from "./waiting-clock.ts";

/** What a key store has, or does not have yet. */
export interface KeyStoreState {
  readonly record: KeyRecord;
  readonly version: string | undefined;
}

const emptyStore: KeyStoreState = { record: { keys: [] }, version: undefined };
const pauseMs = 1000;
const mostFailures = 10;

/** What the key store has; a record without keys if it has none. */
export async function readKeys(keyStore: KeyStore): Promise<KeyStoreState> {
  return (await keyStore.read()) ?? emptyStore;
}

/**
 * Writes the next record of a change of keys, if the record is still at the step `at`; undefined: no change is under way. What others
 * have done to the keys meanwhile stays. Each step needs a `change` of its own, by which a write is known whose answer was lost. Tries
 * for ten seconds while the store is unavailable: what is written may be the only copy of a secret.
 *
 * Resolves to the record; to undefined when it is at another step, since another process has gone on.
 */
export async function writeStep(
  keyStore: KeyStore,
  at: object | undefined,
  next: (record: KeyRecord) => KeyRecord,
  clock: WaitingClock,
): Promise<KeyRecord | undefined> {
  let written: KeyRecord | undefined;
  for (let failures = 0; ; ) {
    try {
      const { record, version } = await readKeys(keyStore);
      if (written !== undefined && isDeepStrictEqual(record.change, written.change)) return record;
      if (!isDeepStrictEqual(record.change, at)) return undefined;
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

function isUnavailable(error: unknown): boolean {
  return WebhookError.is(error) && error.code === "store_unavailable";
}
