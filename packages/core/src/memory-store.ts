import { z } from "zod";
import { type Clock, steadyClock } from "./clock.ts";
import { type Claim, type DedupeStore, defaultRetentionMs, shortestSafeRetentionMs } from "./dedupe-store.ts";
import { WebhookError } from "./errors.ts";
import type { EventKey } from "./event.ts";
import { type Logger, silentLogger, warnOfSetup } from "./logger.ts";
import { loggerOption, type OptionsShape, parseOptions, withMethods } from "./options.ts";

export interface MemoryStoreOptions {
  /** How long done ids are remembered, in ms. Default 30 days; below 8 days replays can run again. */
  retentionMs?: number;
  /** How many ids are kept at most; past it the oldest done ids are forgotten. Default 100,000. */
  maxEntries?: number;
  /** Default: one that does not jump when the machine's time is set. */
  clock?: Clock;
  logger?: Logger;
}

const shape: OptionsShape<Required<MemoryStoreOptions>> = {
  retentionMs: z.int().min(1).default(defaultRetentionMs),
  maxEntries: z.int().min(1).default(100_000),
  clock: withMethods<Clock>("now").default(steadyClock),
  logger: loggerOption.default(silentLogger),
};

interface HeldClaim {
  readonly token: string;
  readonly endsAt: number;
}

/**
 * A dedupe store in this process's memory: for one process, and gone with it. Use a shared store where
 * several processes receive, or where a restart must not let a redelivery run again.
 * Throws `invalid_option`; operations reject with `store_full` when `maxEntries` ids are claimed at the same moment.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DedupeStore {
  const { retentionMs, maxEntries, clock, logger } = parseOptions("memoryStore", shape, options);
  if (retentionMs < shortestSafeRetentionMs) {
    warnOfSetup(
      logger,
      "short_retention",
      "memoryStore forgets done ids in less than 8 days, and replays reach back further. Raise retentionMs.",
    );
  }
  const leases = new Map<string, HeldClaim>();
  const forgetAt = new Map<string, number>(); // done ids, oldest first, since all are kept equally long
  let lastToken = 0;
  let overflowed = false;

  /** Makes room for one more id: forgets what is over, then the oldest done ids, and never a live claim. */
  function makeRoom(now: number): void {
    for (const [id, at] of forgetAt) {
      if (at > now) break;
      forgetAt.delete(id);
    }
    if (forgetAt.size + leases.size < maxEntries) return;
    for (const [id, lease] of leases) if (lease.endsAt <= now) leases.delete(id);
    for (const [id] of forgetAt) {
      if (forgetAt.size + leases.size < maxEntries) return;
      forgetAt.delete(id);
      warnOnce();
    }
    if (leases.size < maxEntries) return;
    throw new WebhookError(
      "store_full",
      `memoryStore holds ${maxEntries} claimed ids, its maxEntries.`,
      "Raise maxEntries, or use a shared store.",
    );
  }

  function warnOnce(): void {
    if (overflowed) return;
    overflowed = true;
    warnOfSetup(
      logger,
      "memory_store_overflow",
      `memoryStore reached its maxEntries of ${maxEntries} and forgets done ids before their retention ends, ` +
        "so a redelivery could run again. Raise maxEntries, or use a shared store.",
    );
  }

  /** Runs `change` if the token still owns the id. */
  function asOwner(key: EventKey, token: string, change: (id: string, now: number) => void): boolean {
    const id = mapKey(key);
    const lease = leases.get(id);
    const now = clock.now();
    if (lease === undefined || lease.token !== token || lease.endsAt <= now) return false;
    change(id, now);
    return true;
  }

  return {
    async claim(key, leaseMs): Promise<Claim> {
      const id = mapKey(key);
      const now = clock.now();
      if ((forgetAt.get(id) ?? 0) > now) return { status: "done" };
      const lease = leases.get(id);
      if (lease !== undefined && lease.endsAt > now) {
        return { status: "busy", retryAfterMs: lease.endsAt - now };
      }
      leases.delete(id);
      makeRoom(now);
      const token = String(++lastToken);
      leases.set(id, { token, endsAt: now + leaseMs });
      return { status: "claimed", token };
    },
    async extend(key, token, leaseMs) {
      return asOwner(key, token, (id, now) => leases.set(id, { token, endsAt: now + leaseMs }));
    },
    async complete(key, token) {
      return asOwner(key, token, (id, now) => {
        leases.delete(id);
        forgetAt.delete(id);
        forgetAt.set(id, now + retentionMs);
      });
    },
    async release(key, token) {
      return asOwner(key, token, (id) => leases.delete(id));
    },
    async close() {},
  };
}

function mapKey({ source, id }: EventKey): string {
  return `${source.length}:${source}${id}`; // the length keeps ("a", "bc") and ("ab", "c") apart
}
