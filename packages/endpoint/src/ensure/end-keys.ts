import type { KeyRecord, StoredKey } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { Replacement } from "./replacement.ts";

type Keys = KeyRecord["keys"];

/** The keys, of which those of the replaced endpoint end at `endMs`, or when they would have ended earlier. */
export function endKeys(keys: Keys, { replaces, ownsKeys }: Replacement, endMs: number): Keys {
  return keys.flatMap((given) => {
    const key: StoredKey = typeof given === "string" ? { secret: given } : given;
    const isOld = key.endpoint === undefined ? ownsKeys : key.endpoint === replaces;
    if (!isOld || dateTimeMs(key.notAfter) <= endMs) return [given];
    const isAhead = dateTimeMs(key.notBefore) >= endMs;
    return isAhead ? [] : [{ ...key, notAfter: new Date(endMs).toISOString() }];
  });
}

/** When the last of the replaced endpoint's keys ends; undefined if none is left. */
export function lastEndMs(keys: Keys, { replaces, ownsKeys }: Replacement): number | undefined {
  const ends = keys.flatMap((key) => {
    if (typeof key === "string" || key.notAfter === undefined) return [];
    return (key.endpoint === undefined ? ownsKeys : key.endpoint === replaces)
      ? [dateTimeMs(key.notAfter)]
      : [];
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** The keys without those that have ended. */
export function withoutEnded(keys: Keys, nowMs: number): Keys {
  return keys.filter((key) => typeof key === "string" || !(dateTimeMs(key.notAfter) <= nowMs));
}
