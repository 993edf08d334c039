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
  const rowOf = new Map<string, number>(); // by name
  const line = createLine(); // the oldest claims first, so ends need not be spread
  const { nameOf, sourceOf } = createNames();
  let lastToken = 0;
  let overflowed = false;

  function forget(row: number): void {
    rowOf.delete(line.name(row));
    line.remove(row);
  }

  /** Makes room for one more id: forgets what has expired, then the oldest done ids, but never a live claim. */
  function makeRoom(now: number): void {
    for (let row = line.first(); row !== none && line.endsAt(row) <= now; row = line.first()) forget(row);
    for (let unseen = rowOf.size; rowOf.size >= maxEntries; unseen -= 1) {
      if (unseen === 0) throw full(maxEntries);
      const row = line.first();
      const isLive = line.endsAt(row) > now;
      if (isLive && !line.isDone(row)) {
        line.moveToEnd(row);
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

  /** The row of an id that this token holds or has done; undefined once its end has passed. */
  function ownRow(name: string, token: string, now: number): number | undefined {
    const row = rowOf.get(name);
    const isOwn = row !== undefined && line.token(row) === Number(token) && line.endsAt(row) > now;
    return isOwn ? row : undefined;
  }

  return {
    capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs },
    claim(key, leaseMs, fingerprint): Claim {
      const name = nameOf(key);
      const now = clock.now();
      const held = rowOf.get(name);
      if (held !== undefined) {
        const retryAfterMs = line.endsAt(held) - now;
        if (retryAfterMs > 0) {
          const conflict = line.isOther(held, fingerprint) && ({ conflict: true } as const);
          return line.isDone(held)
            ? { status: "done", ...conflict }
            : { status: "busy", retryAfterMs, ...conflict };
        }
        forget(held);
      }
      makeRoom(now);
      lastToken += 1;
      rowOf.set(name, line.add(name, lastToken, now + leaseMs, fingerprint));
      return { status: "claimed", token: String(lastToken) };
    },
    extend(key, token, leaseMs) {
      const now = clock.now();
      const row = ownRow(nameOf(key), token, now);
      if (row === undefined || line.isDone(row)) return false;
      line.extend(row, now + leaseMs);
      return true;
    },
    complete(key, token) {
      const now = clock.now();
      const row = ownRow(nameOf(key), token, now);
      if (row === undefined) return false;
      if (!line.isDone(row)) line.markDone(row, now + retentionMs);
      return true;
    },
    release(key, token) {
      const row = ownRow(nameOf(key), token, clock.now());
      if (row === undefined || line.isDone(row)) return false;
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
 * Claims and done marks in a line, as rows of numbers: 41 bytes each. As objects they would take twice as much, and time at every
 * garbage collection. A map alone would be a line too, but to find its first entry takes the longer the more were deleted.
 */
interface Line {
  /** Adds a claim at the end. Returns the number of its row. */
  add(name: string, token: number, endsAt: number, fingerprint: number | undefined): number;
  /** Takes a row out. Its number goes to a row that is added later. */
  remove(row: number): void;
  moveToEnd(row: number): void;
  /** The row that has stood in the line for the longest; `none` if there is none. */
  first(): number;
  name(row: number): string;
  token(row: number): number;
  /** The end of the lease or of the retention. */
  endsAt(row: number): number;
  isDone(row: number): boolean;
  /** Whether this is the fingerprint of another body, as far as both are known. */
  isOther(row: number, fingerprint: number | undefined): boolean;
  extend(row: number, endsAt: number): void;
  markDone(row: number, endsAt: number): void;
}

/** No row. In the links, it stands before the first row and after the last. */
const none = 0;

function createLine(): Line {
  const names = [""];
  let numbers = columnsOf(256);
  let used = 1;
  let firstFree = none; // free rows are linked by `next`

  function takeRow(): number {
    const row = firstFree;
    if (row !== none) {
      firstFree = numbers.next[row] as number;
      return row;
    }
    if (used === numbers.next.length) numbers = columnsOf(2 * used, numbers);
    return used++;
  }

  function link(before: number, after: number): void {
    numbers.next[before] = after;
    numbers.previous[after] = before;
  }

  function unlink(row: number): void {
    link(numbers.previous[row] as number, numbers.next[row] as number);
  }

  function linkAtEnd(row: number): void {
    link(numbers.previous[none] as number, row);
    link(row, none);
  }

  return {
    add(name, token, endsAt, fingerprint = Number.NaN) {
      const row = takeRow();
      names[row] = name;
      numbers.token[row] = token;
      numbers.endsAt[row] = endsAt;
      numbers.fingerprint[row] = fingerprint;
      numbers.isDone[row] = 0;
      linkAtEnd(row);
      return row;
    },
    remove(row) {
      unlink(row);
      names[row] = "";
      numbers.next[row] = firstFree;
      firstFree = row;
    },
    moveToEnd(row) {
      unlink(row);
      linkAtEnd(row);
    },
    first: () => numbers.next[none] as number,
    name: (row) => names[row] as string,
    token: (row) => numbers.token[row] as number,
    endsAt: (row) => numbers.endsAt[row] as number,
    isDone: (row) => numbers.isDone[row] === 1,
    isOther(row, fingerprint) {
      const kept = numbers.fingerprint[row] as number;
      return fingerprint !== undefined && !Number.isNaN(kept) && fingerprint !== kept;
    },
    extend(row, endsAt) {
      numbers.endsAt[row] = endsAt;
    },
    markDone(row, endsAt) {
      numbers.endsAt[row] = endsAt;
      numbers.isDone[row] = 1;
    },
  };
}

/** The numbers of so many rows. A fingerprint that is not known is NaN. */
interface Columns {
  readonly token: Float64Array;
  readonly endsAt: Float64Array;
  readonly fingerprint: Float64Array;
  readonly isDone: Uint8Array;
  readonly next: Uint32Array;
  readonly previous: Uint32Array;
}

function columnsOf(rows: number, shorter?: Columns): Columns {
  const columns: Columns = {
    token: new Float64Array(rows),
    endsAt: new Float64Array(rows),
    fingerprint: new Float64Array(rows),
    isDone: new Uint8Array(rows),
    next: new Uint32Array(rows),
    previous: new Uint32Array(rows),
  };
  if (shorter) for (const name of Object.keys(columns) as (keyof Columns)[]) columns[name].set(shorter[name]);
  return columns;
}
