// The ids of hand-written routes: in a Map, and in Redis.
import { Redis } from "ioredis";
import type { Ids } from "./hand-written.ts";

const dayMs = 24 * 60 * 60 * 1000;
const retentionMs = 30 * dayMs;
export const claimMs = 60_000;

/** A Map with a time to live. The oldest ids are first in it, so those that have ended are found without a search. */
export function mapOfIds(): Ids {
  const until = new Map<string, number>();
  const dropEnded = (now: number) => {
    for (const [id, end] of until) {
      if (end > now) return;
      until.delete(id);
    }
  };
  return {
    claim(id) {
      const now = Date.now();
      dropEnded(now);
      if (until.has(id)) return false;
      until.set(id, now + retentionMs);
      return true;
    },
    complete() {},
    release: (id) => until.delete(id),
  };
}

/**
 * `SET NX` before the handler and a mark after it, so that a crash in between loses no event. Apps with different prefixes remember ids
 * of their own.
 */
export function redisIds(url: string, prefix: string): Ids & { close(): void } {
  const redis = new Redis(url, { enableAutoPipelining: true });
  const key = (id: string) => `${prefix}:${id}`;
  return {
    claim: async (id) => (await redis.set(key(id), "claimed", "PX", claimMs, "NX")) === "OK",
    complete: (id) => redis.set(key(id), "done", "PX", retentionMs),
    release: (id) => redis.del(key(id)),
    close: () => redis.disconnect(),
  };
}
