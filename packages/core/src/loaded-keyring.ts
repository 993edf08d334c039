import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { startDeadline } from "./deadline.ts";
import { WebhookError } from "./errors.ts";
import type { KeySource } from "./key-source.ts";
import { type Keyring, prepareKeys } from "./keyring.ts";
import type { Logger } from "./logger.ts";
import type { SigningKey } from "./signing-key.ts";

/** A keyring whose keys come from a key source. */
export interface LoadedKeyring extends Keyring {
  /**
   * Waits for a load that begins after this call, so that it sees what the source has by now. Many calls share one
   * load. False: nobody knows the newest keys, because the load failed, took too long, or too many are waiting.
   */
  refresh(): Promise<boolean>;
  /** Resolves when the first load has ended, well or not. */
  readonly ready: Promise<unknown>;
  /** Whether the source says that a rotation is under way. */
  rotatingAt(atMs: number): boolean;
}

const reloadIntervalMs = 1000;
const loadTimeoutMs = 5000;
const maxWaiting = 100;
const longestRotationMs = 24 * 60 * 60 * 1000;

/** Loads the keys at once, and again for `refresh`, at most once a second. */
export function createLoadedKeyring(source: KeySource, clock: Clock, logger: Logger): LoadedKeyring {
  let keys: readonly SigningKey[] = [];
  let rotatingUntilMs = 0;
  let waiting = 0;
  let pace = pause(reloadIntervalMs, undefined, { ref: false });
  let current = load();
  let upcoming: Promise<boolean> | undefined;

  async function load(): Promise<boolean> {
    try {
      const loaded = await startDeadline(loadTimeoutMs).before(source.load());
      if (loaded === undefined) throw new Error(`load() did not answer within ${loadTimeoutMs} ms.`);
      const { keys: secrets, rotatingUntil } = isList(loaded) ? { keys: loaded } : loaded;
      const end = rotationEndMs(rotatingUntil, clock.now());
      keys = prepareKeys(secrets);
      rotatingUntilMs = end;
      return true;
    } catch (err) {
      logger.error(
        { err, code: "key_source_failed" },
        "The key source could not be loaded; the keys of before stay.",
      );
      return false;
    }
  }

  // a load that is under way may have read the source before it changed: only one that begins later will do
  async function loadNext(): Promise<boolean> {
    await Promise.all([current, pace]);
    upcoming = undefined;
    pace = pause(reloadIntervalMs, undefined, { ref: false });
    current = load();
    return current;
  }

  return {
    ready: current,
    keysAt: (atMs) => keys.filter((key) => key.validAt(atMs)),
    rotatingAt: (atMs) => atMs < rotatingUntilMs,
    async refresh() {
      if (waiting >= maxWaiting) return false;
      waiting += 1;
      upcoming ??= loadNext();
      try {
        return await upcoming;
      } finally {
        waiting -= 1;
      }
    },
  };
}

function isList<T, U>(loaded: readonly T[] | U): loaded is readonly T[] {
  return Array.isArray(loaded);
}

function rotationEndMs(rotatingUntil: Date | string | undefined, nowMs: number): number {
  if (rotatingUntil === undefined) return 0;
  const ms = new Date(rotatingUntil).getTime();
  if (ms - nowMs <= longestRotationMs) return ms;
  throw new WebhookError(
    "invalid_option",
    "The key source's rotatingUntil is no date-time, or more than 24 hours ahead.",
    "A rotation takes minutes: give the time by which the new key will be there.",
  );
}
