import { createKeyring, type StoredKey } from "@esim-webhooks/core";
import { keyPlaceOf } from "../set-up/key-place.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** What the service may still be sending arrives within this time. */
const endsInMs = 2 * 60_000;

/** Keys that were given an end. */
export interface EndedKeys {
  /** Their fingerprints. */
  readonly keys: readonly string[];
  /** Names their key store in messages. */
  readonly where: string;
}

/**
 * Gives the keys of an endpoint that was deleted an end, in the config's key store. Those that do not name the endpoint stay. The next
 * rotation removes them.
 */
export async function endKeysOf(setUp: SetUp, reference: string): Promise<EndedKeys> {
  const { keyStore, where } = keyPlaceOf(setUp, undefined);
  for (;;) {
    const stored = await keyStore.read();
    const { keys = [], ...rest } = stored?.record ?? {};
    const isOfIt = (key: string | StoredKey): key is StoredKey =>
      typeof key !== "string" && key.endpoint === reference;
    const own = keys.filter(isOfIt);
    if (own.length === 0) return { keys: [], where };
    const notAfter = new Date(Date.now() + endsInMs).toISOString();
    const ended = keys.map((key) => (isOfIt(key) ? { ...key, notAfter } : key));
    if (await keyStore.write({ ...rest, keys: ended }, stored?.version))
      return {
        keys: own.map(({ secret }) => createKeyring([secret]).keysAt(0)[0]?.fingerprint ?? ""),
        where,
      };
  }
}
