import * as z from "zod/mini";
import { type Clock, monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type OptionsShape, parseOptions, withMethods } from "../base/options.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import { type EventKey, keyText, sourceIn } from "../event/event.ts";
import type { Claim, DedupeStore } from "../store/dedupe-store.ts";
import { type StoreOptions, storeShape, warnOfShortRetention } from "../store/store-options.ts";
import { createMemoryRows, none } from "./memory-rows.ts";

export interface MemoryStoreOptions extends StoreOptions {
  /** The most ids to keep. Beyond it, the store forgets the oldest done ids. Default 100,000. */
  maxEntries?: number;
  /** Returns the time, for tests. Default: a monotonic clock, which does not jump when the machine's time is set. */
  clock?: Clock;
}

export const memoryStoreShape: OptionsShape<Required<MemoryStoreOptions>> = {
  ...storeShape,
  maxEntries: z._default(z.int().check(z.gte(1)), 100_000),
  clock: z._default(withMethods<Clock>("now"), monotonicClock),
};

/**
 * A dedupe store in this process's memory. It answers without a promise, except to `sources` and `close`. Use a shared store if
 * several processes receive, or if a redelivery must not run again after a restart.
 * Throws `invalid_option`; `claim` throws `store_full` when `maxEntries` ids are claimed at the same time.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DedupeStore {
  const { retentionMs, maxEntries, clock, logger } = parseOptions("memoryStore", memoryStoreShape, options);
  warnOfShortRetention("memoryStore", { retentionMs, logger });
  const rowOf = new Map<string, number>(); // by name
  const rows = createMemoryRows(); // in the order of their claims, so that the oldest done ids are found without a search
  const { nameOf, sourceOf } = createNames();
  let lastToken = 0;
  let overflowed = false;

  function forget(row: number): void {
    rowOf.delete(rows.name(row));
    rows.remove(row);
  }

  /** Makes room for one more id: forgets expired ids, then the oldest done ids. Throws `store_full` if all are live claims. */
  function makeRoom(now: number): void {
    for (let row = rows.first(); row !== none && rows.endsAt(row) <= now; row = rows.first()) forget(row);
    for (let unseen = rowOf.size; rowOf.size >= maxEntries; unseen -= 1) {
      if (unseen === 0) throw full(maxEntries);
      const row = rows.first();
      const isLive = rows.endsAt(row) > now;
      if (isLive && !rows.isDone(row)) {
        rows.moveToEnd(row);
        continue;
      }
      if (isLive) warnOnce();
      forget(row);
    }
  }

  function warnOnce(): void {
    if (overflowed) return;
    overflowed = true;
    warnOfSetup(
      logger,
      "memory_store_overflow",
      `memoryStore has reached its maxEntries of ${maxEntries} and now forgets done ids before their retention ends, ` +
        "so a redelivery can run again. Raise maxEntries, or use a shared store.",
    );
  }

  /** Returns the row of an id that this token has claimed or completed. Undefined once the lease or the retention has ended. */
  function ownRow(name: string, token: string, now: number): number | undefined {
    const row = rowOf.get(name);
    const isOwn = row !== undefined && rows.token(row) === Number(token) && rows.endsAt(row) > now;
    return isOwn ? row : undefined;
  }

  return {
    capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs },
    claim(key, leaseMs, fingerprint): Claim {
      const name = nameOf(key);
      const now = clock.now();
      const held = rowOf.get(name);
      if (held !== undefined) {
        const retryAfterMs = rows.endsAt(held) - now;
        if (retryAfterMs > 0) {
          const conflict = rows.isOther(held, fingerprint) && ({ conflict: true } as const);
          return rows.isDone(held)
            ? { status: "done", ...conflict }
            : { status: "busy", retryAfterMs, ...conflict };
        }
        forget(held);
      }
      makeRoom(now);
      lastToken += 1;
      rowOf.set(name, rows.add(name, lastToken, now + leaseMs, fingerprint));
      return { status: "claimed", token: String(lastToken) };
    },
    extend(key, token, leaseMs) {
      const now = clock.now();
      const row = ownRow(nameOf(key), token, now);
      if (row === undefined || rows.isDone(row)) return false;
      rows.extend(row, now + leaseMs);
      return true;
    },
    complete(key, token) {
      const now = clock.now();
      const row = ownRow(nameOf(key), token, now);
      if (row === undefined) return false;
      if (!rows.isDone(row)) rows.markDone(row, now + retentionMs);
      return true;
    },
    release(key, token) {
      const row = ownRow(nameOf(key), token, clock.now());
      if (row === undefined || rows.isDone(row)) return false;
      forget(row);
      return true;
    },
    sources: async () => [...new Set([...rowOf.keys()].map(sourceOf))],
    async close() {},
  };
}

function full(maxEntries: number): WebhookError {
  return new WebhookError(
    "store_full",
    `memoryStore is full: all ${maxEntries} ids of its maxEntries are claimed.`,
    "Raise maxEntries, or use a shared store.",
  );
}

interface Names {
  /** The id and its source as one text, unique. */
  nameOf(key: EventKey): string;
  /** The source in a name. */
  sourceOf(name: string): string;
}

/** Most stores have ids of one source. An id of the first source is its own name: to join two texts takes longer than the rest of a claim. */
function createNames(): Names {
  let first: string | undefined;
  return {
    nameOf(key) {
      first ??= key.source;
      return key.source === first && !key.id.startsWith(joined) ? key.id : joined + keyText(key);
    },
    sourceOf: (name) => (name.startsWith(joined) ? sourceIn(name.slice(joined.length)) : (first ?? "")),
  };
}

/** The first character of a name that joins a source and an id. */
const joined = "\0";
