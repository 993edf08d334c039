import { isDeepStrictEqual } from "node:util";
import { type CoreErrorCode, type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { storeSecretMs } from "./service-call.ts";

/** What a key store has, or does not have yet. */
export interface KeyStoreState {
  readonly record: KeyRecord;
  readonly version: string | undefined;
}

const emptyStore: KeyStoreState = { record: { keys: [] }, version: undefined };
const pauseMs = 1000;
const stepMs = 10_000;

/** What the key store has; a record without keys if it has none. */
export async function readKeys(keyStore: KeyStore): Promise<KeyStoreState> {
  return (await keyStore.read()) ?? emptyStore;
}

/**
 * Writes the next record of a change of keys, if the record is still at the step `at`; undefined: no change is under way. What others
 * have done to the keys meanwhile stays. A write whose answer was lost is known by its `change`; one that leaves the `change` is made again. Tries
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
  return write(keyStore, next, clock, {
    read: () => readKeys(keyStore),
    isAt: ({ change }) => isDeepStrictEqual(change, at),
    forMs: stepMs,
    mayPass: (error) => WebhookError.is(error) && error.code === "store_unavailable",
  });
}

/**
 * Writes the step that has a new secret, as `writeStep` does. Nobody else may have the secret, so a record that another program has
 * written meanwhile, without any change, gets it, too; and a store that is empty, or that rejects with whatever error, is tried for minutes.
 * `isOver` tells of a record without any change whether the change was finished meanwhile, so that its secret may be an old one.
 */
export async function writeSecret(
  keyStore: KeyStore,
  at: object,
  next: (record: KeyRecord) => KeyRecord,
  isOver: (record: KeyRecord) => boolean,
  clock: WaitingClock,
): Promise<KeyRecord | undefined> {
  try {
    return await write(keyStore, next, clock, {
      async read() {
        const stored = await keyStore.read();
        const { keys = [], change } = stored?.record ?? {};
        if (stored !== undefined && (keys.length > 0 || change !== undefined)) return stored;
        throw new WebhookError("missing_secret", "The key store is empty.", "Put its keys back.");
      },
      isAt: (record) =>
        isDeepStrictEqual(record.change, at) || (record.change === undefined && !isOver(record)),
      forMs: storeSecretMs,
      mayPass: () => true,
    });
  } catch (cause) {
    throw new WebhookError(
      WebhookError.is(cause) ? (cause.code as CoreErrorCode) : "store_unavailable",
      `The new secret could not be stored. ${cause instanceof Error ? cause.message : String(cause)}`,
      "Mend the key store, and run this again soon: the same call may show the secret once more.",
      { cause },
    );
  }
}

interface Attempts {
  read(): Promise<KeyStoreState>;
  /** Whether the record is still the one to change. */
  isAt(record: KeyRecord): boolean;
  /** How long it is tried, in ms. */
  readonly forMs: number;
  /** Whether the same write may succeed later. */
  mayPass(error: unknown): boolean;
}

async function write(
  keyStore: KeyStore,
  next: (record: KeyRecord) => KeyRecord,
  clock: WaitingClock,
  { read, isAt, forMs, mayPass }: Attempts,
): Promise<KeyRecord | undefined> {
  const endsAt = clock.now() + forMs;
  let written: KeyRecord | undefined;
  for (;;) {
    try {
      const { record, version } = await read();
      if (!isAt(record)) {
        const isWritten = written !== undefined && isDeepStrictEqual(record.change, written.change);
        return isWritten ? record : undefined;
      }
      const wanted = next(record);
      written = wanted;
      if (await keyStore.write(wanted, version)) return wanted;
      written = undefined;
      if (clock.now() >= endsAt) throw alwaysOutrun();
    } catch (error) {
      if (!mayPass(error) || clock.now() >= endsAt) throw error;
    }
    await clock.wait(pauseMs, new AbortController().signal);
  }
}

function alwaysOutrun(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "The key store accepted no write: each time it answered that another program had written before.",
    "Stop the other program. If the key store is your own, its write() must accept a write with the version of the last read.",
  );
}
