import {
  type KeyRecord,
  type KeyStore,
  type LoadedKeys,
  type StoredKeys,
  WebhookError,
} from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  type StoreGuard,
  withMethods,
} from "@esim-webhooks/core/engine";
import { keyRecordsIn, type SettingsOf, silentLogger } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { AwsClient } from "../base/aws.ts";
import type { LambdaErrorCode } from "../base/errors.ts";

/** The options of every key store of AWS. */
export interface AwsKeysOptions {
  /** A client of the SDK, which stays yours to destroy. Default: a new one, with the function's own region and role. */
  client?: AwsClient;
  /**
   * For how long loaded keys are used again, in ms, at most a minute: it limits the calls that forged deliveries cause. Meanwhile a signature that
   * matches no key is answered 503, not 401, since its key may be newer. Default 5,000.
   */
  cacheMs?: number;
  /** How long a call may take, in ms, with the retries of the client. Default 4,000. */
  timeoutMs?: number;
}

export const awsKeysShape: OptionsShape<SettingsOf<AwsKeysOptions, "client">> = {
  client: z.optional(withMethods<AwsClient>("send")),
  cacheMs: z._default(durationMs(0).check(z.lte(60_000, "expected at most 60000 ms")), 5000),
  timeoutMs: z._default(durationMs(1), 4000), // a receiver waits 5 s for its keys
};

/** Creates the guard of a key store, which limits the time of its calls. `explain` returns the error for a mistake in the set-up. */
export function keysGuard(
  name: string,
  timeoutMs: number,
  explain: (error: unknown) => WebhookError<LambdaErrorCode> | undefined,
): StoreGuard {
  return createStoreGuard({ name, timeoutMs, logger: silentLogger, async check() {}, explain });
}

/** The calls of a key store to AWS. */
interface Access {
  read(): Promise<StoredKeys | undefined>;
  /** `record` was checked: receivers can read it. */
  write(record: KeyRecord, version: string | undefined): Promise<boolean>;
}

/**
 * Makes a key store, whose `load` is cached. Cached keys say that a rotation is under way until they expire: a receiver then refuses no
 * signature because of keys that may be outdated, and its next load shows the keys of a rotation.
 * @param place for messages
 */
export function cachedKeys(place: string, cacheMs: number, { read, write }: Access): KeyStore {
  const records = keyRecordsIn(place);
  let cached: { readonly keys: LoadedKeys; readonly loadedAt: number } | undefined;
  return {
    async load() {
      const leftMs = cached === undefined ? 0 : cached.loadedAt + cacheMs - performance.now();
      if (cached !== undefined && leftMs > 0) return unsureFor(leftMs, cached.keys);
      const loadedAt = performance.now();
      const stored = await read();
      if (stored === undefined) throw noKeys(place);
      const keys = records.loaded(stored.record);
      cached = { keys, loadedAt };
      return keys;
    },
    read,
    async write(record, version) {
      records.of(record);
      cached = undefined;
      return write(record, version);
    },
  };
}

function unsureFor(ms: number, keys: LoadedKeys): LoadedKeys {
  const until = new Date(Date.now() + ms);
  const known = keys.rotatingUntil ? new Date(keys.rotatingUntil) : until;
  return { ...keys, rotatingUntil: known > until ? known : until };
}

function noKeys(place: string): WebhookError {
  return new WebhookError(
    "missing_secret",
    `${place} does not exist, or has no value yet.`,
    "Correct the name; or store the endpoint's signingSecret (whsec_…) there, as plain text.",
  );
}
