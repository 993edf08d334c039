import * as z from "zod/mini";
import { type Clock, monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { warnOfSetup } from "../base/logger.ts";
import { type OptionsShape, parseOptions, withMethods } from "../base/options.ts";
import { type EventKey, keyText, sourceIn } from "../event/event.ts";
import type { Claim, DedupeStore } from "./dedupe-store.ts";
import { type StoreOptions, storeShape, warnOfShortRetention } from "./store-options.ts";

export interface MemoryStoreOptions extends StoreOptions {
  /** The most ids to keep. Beyond it, the store forgets the oldest done ids. Default 100,000. */
  maxEntries?: number;
  /** Tells the time, for tests. Default: a monotonic clock, which does not jump when the machine's time is set. */
  clock?: Clock;
}

export const memoryStoreShape: OptionsShape<Required<MemoryStoreOptions>> = {
  ...storeShape,
  maxEntries: z._default(z.int().check(z.gte(1)), 100_000),
  clock: z._default(withMethods<Clock>("now"), monotonicClock),
};

/** A claim, or a done mark. */
interface Held {
  readonly token: string;
  readonly endsAt: number;
  readonly fingerprint: number | undefined;
}

/**
 * A dedupe store in this process's memory. It answers at once, without a promise. Use a shared store if several processes
 * receive, or if a redelivery must not run again after a restart.
 * Throws `invalid_option`; `claim` throws `store_full` when `maxEntries` ids are claimed at the same time.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DedupeStore {
  const { retentionMs, maxEntries, clock, logger } = parseOptions("memoryStore", memoryStoreShape, options);
  warnOfShortRetention("memoryStore", { retentionMs, logger });
  const leases = new Map<string, Held>();
  const marks = new Map<string, Held>(); // done ids, the first to end first: so their ends are not spread
  let lastToken = 0;
  let overflowed = false;

  /** Makes room for one more id: forgets what has expired, then the oldest done ids, but never a live claim. */
  function makeRoom(now: number): void {
    for (const [id, done] of marks) {
      if (done.endsAt > now) break;
      marks.delete(id);
    }
    if (marks.size + leases.size < maxEntries) return;
    for (const [id, lease] of leases) if (lease.endsAt <= now) leases.delete(id);
    for (const [id] of marks) {
      if (marks.size + leases.size < maxEntries) return;
      marks.delete(id);
      warnOnce();
    }
    if (leases.size < maxEntries) return;
    throw new WebhookError(
      "store_full",
      `memoryStore is full: all ${maxEntries} ids of its maxEntries are claimed.`,
      "Raise maxEntries, or use a shared store.",
    );
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

  /** Runs `change` if the token still holds the claim. */
  function asOwner(
    key: EventKey,
    token: string,
    change: (id: string, lease: Held, now: number) => void,
  ): boolean {
    const id = keyText(key);
    const lease = leases.get(id);
    const now = clock.now();
    if (lease === undefined || lease.token !== token || lease.endsAt <= now) return false;
    change(id, lease, now);
    return true;
  }

  return {
    capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs },
    claim(key, leaseMs, fingerprint): Claim {
      const id = keyText(key);
      const now = clock.now();
      const mark = marks.get(id);
      if (mark !== undefined && mark.endsAt > now) {
        return { status: "done", ...(isConflict(mark, fingerprint) && { conflict: true }) };
      }
      const lease = leases.get(id);
      if (lease !== undefined && lease.endsAt > now) {
        const retryAfterMs = lease.endsAt - now;
        return { status: "busy", retryAfterMs, ...(isConflict(lease, fingerprint) && { conflict: true }) };
      }
      leases.delete(id);
      makeRoom(now);
      const token = String(++lastToken);
      leases.set(id, { token, endsAt: now + leaseMs, fingerprint });
      return { status: "claimed", token };
    },
    extend: (key, token, leaseMs) =>
      asOwner(key, token, (id, lease, now) => leases.set(id, { ...lease, endsAt: now + leaseMs })),
    complete(key, token) {
      const mark = marks.get(keyText(key));
      if (mark?.token === token && mark.endsAt > clock.now()) return true;
      return asOwner(key, token, (id, { fingerprint }, now) => {
        leases.delete(id);
        marks.delete(id);
        marks.set(id, { token, endsAt: now + retentionMs, fingerprint });
      });
    },
    release: (key, token) => asOwner(key, token, (id) => leases.delete(id)),
    sources: async () => [...new Set([...leases.keys(), ...marks.keys()].map(sourceIn))],
    async close() {},
  };
}

function isConflict(held: Held, fingerprint: number | undefined): boolean {
  return fingerprint !== undefined && held.fingerprint !== undefined && fingerprint !== held.fingerprint;
}
