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

/**
 * A dedupe store in this process's memory. It answers at once, without a promise. Use a shared store if several processes
 * receive, or if a redelivery must not run again after a restart.
 * Throws `invalid_option`; `claim` throws `store_full` when `maxEntries` ids are claimed at the same time.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DedupeStore {
  const { retentionMs, maxEntries, clock, logger } = parseOptions("memoryStore", memoryStoreShape, options);
  warnOfShortRetention("memoryStore", { retentionMs, logger });
  const rowOf = new Map<string, number>(); // by name; the oldest claims first, so ends need not be spread
  const rows = createRows();
  const { nameOf, sourceOf } = createNames();
  let lastToken = 0;
  let overflowed = false;

  function forget(name: string, row: number): void {
    rowOf.delete(name);
    rows.free(row);
  }

  /** Makes room for one more id: forgets what has expired, then the oldest done ids, but never a live claim. */
  function makeRoom(now: number): void {
    for (const [name, row] of rowOf) {
      if (rows.endsAt(row) > now) break;
      forget(name, row);
    }
    let unseen = rowOf.size;
    if (unseen < maxEntries) return;
    for (const [name, row] of rowOf) {
      if (rows.isDone(row) || rows.endsAt(row) <= now) {
        if (rows.endsAt(row) > now) warnOnce();
        forget(name, row);
        return;
      }
      rowOf.delete(name); // a live claim goes to the end of the line
      rowOf.set(name, row);
      unseen -= 1;
      if (unseen === 0) break;
    }
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

  /** The row of an id that this token holds or has done; undefined once its end has passed. */
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
        forget(name, held);
      }
      makeRoom(now);
      lastToken += 1;
      rowOf.set(name, rows.add(lastToken, now + leaseMs, fingerprint));
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
      const name = nameOf(key);
      const row = ownRow(name, token, clock.now());
      if (row === undefined || rows.isDone(row)) return false;
      forget(name, row);
      return true;
    },
    sources: async () => [...new Set([...rowOf.keys()].map(sourceOf))],
    async close() {},
  };
}

interface Names {
  /** The id and its source as one text, unique. */
  nameOf(key: EventKey): string;
  /** The source in a name. */
  sourceOf(name: string): string;
}

/** Most stores have ids of one source. Those are their own names: to join two texts takes longer than the rest of a claim. */
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

/** Begins a name that was joined. */
const joined = "\0";

/**
 * Claims and done marks as rows of numbers: 32 bytes each. As objects they would take twice as much, and time at every garbage
 * collection. A row's number is the caller's to keep.
 */
interface Rows {
  /** Adds a claim. Returns the number of its row. */
  add(token: number, endsAt: number, fingerprint: number | undefined): number;
  /** Gives a row up, for the next to be added. */
  free(row: number): void;
  token(row: number): number;
  /** The end of the lease or of the retention. */
  endsAt(row: number): number;
  isDone(row: number): boolean;
  /** Whether this is the fingerprint of another body, as far as both are known. */
  isOther(row: number, fingerprint: number | undefined): boolean;
  extend(row: number, endsAt: number): void;
  markDone(row: number, endsAt: number): void;
}

const width = 4;
/** The places in a row. A fingerprint that is not known is NaN. */
const tokenAt = 0;
const endsAtAt = 1;
const fingerprintAt = 2;
const isDoneAt = 3;

function createRows(): Rows {
  let numbers = new Float64Array(256 * width);
  let used = 0;
  const freed: number[] = [];
  const read = (row: number, place: number) => numbers[row * width + place] as number;
  const write = (row: number, place: number, value: number) => {
    numbers[row * width + place] = value;
  };

  function nextRow(): number {
    const row = freed.pop();
    if (row !== undefined) return row;
    if (used * width === numbers.length) {
      const shorter = numbers;
      numbers = new Float64Array(2 * shorter.length);
      numbers.set(shorter);
    }
    return used++;
  }

  return {
    add(token, endsAt, fingerprint = Number.NaN) {
      const row = nextRow();
      write(row, tokenAt, token);
      write(row, endsAtAt, endsAt);
      write(row, fingerprintAt, fingerprint);
      write(row, isDoneAt, 0);
      return row;
    },
    free: (row) => void freed.push(row),
    token: (row) => read(row, tokenAt),
    endsAt: (row) => read(row, endsAtAt),
    isDone: (row) => read(row, isDoneAt) === 1,
    isOther(row, fingerprint) {
      const kept = read(row, fingerprintAt);
      return fingerprint !== undefined && !Number.isNaN(kept) && fingerprint !== kept;
    },
    extend: (row, endsAt) => write(row, endsAtAt, endsAt),
    markDone(row, endsAt) {
      write(row, endsAtAt, endsAt);
      write(row, isDoneAt, 1);
    },
  };
}
