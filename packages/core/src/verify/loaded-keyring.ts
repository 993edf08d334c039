import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import { startDeadline } from "../base/deadline.ts";
import { type Logger, warnOfSetup } from "../base/logger.ts";
import { type KeySource, rotationEndMs } from "./key-source.ts";
import { type Keyring, keyringOf, prepareKeys } from "./keyring.ts";
import type { SigningKey } from "./signing-key.ts";

/** A keyring whose keys come from a key source. */
export interface LoadedKeyring extends Keyring {
  /** Waits for the first load. */
  ready(): Promise<Loading>;
  /**
   * Waits for a load that begins after this call, and so sees the newest keys. Concurrent calls share one load.
   */
  refresh(): Promise<Loading>;
  /** Begins a load in the background when the last one is over a minute old: keys may have been withdrawn. */
  refreshIfOld(): void;
  /** Whether the source says that a rotation is under way. */
  rotatingAt(atMs: number): boolean;
}

/** How a load ended. The newest keys are known only after `loaded`. */
export type Loading = "loaded" | "failed" | "too_many_waiting";

const reloadIntervalMs = 1000;
const loadTimeoutMs = 5000;
const maxWaiting = 100;
const oldMs = 60_000;
/** The sender makes ten attempts, and each 503 uses one up: a longer window exhausts more deliveries than it saves. */
const longestRotationMs = 15 * 60_000;

/** Loads the keys at once, and again for `refresh`, at most once a second. */
export function createLoadedKeyring(source: KeySource, clock: Clock, logger: Logger): LoadedKeyring {
  let keys: readonly SigningKey[] = [];
  let rotation = { reportedEndMs: 0, endMs: 0 };
  let waiting = 0;
  let pace = pause(reloadIntervalMs, undefined, { ref: false });
  let begunAt = performance.now();
  let current = load();
  let upcoming: Promise<Loading> | undefined;

  async function load(): Promise<Loading> {
    try {
      const loaded = await startDeadline(loadTimeoutMs).before(source.load());
      if (loaded === undefined) throw new Error(`load() did not answer within ${loadTimeoutMs} ms.`);
      const { keys: secrets, rotatingUntil } = isList(loaded) ? { keys: loaded } : loaded;
      const reportedEndMs = rotationEndMs(rotatingUntil);
      keys = prepareKeys(secrets);
      if (reportedEndMs !== rotation.reportedEndMs) {
        rotation = { reportedEndMs, endMs: boundedEndMs(reportedEndMs, clock.now(), logger) };
      }
      return "loaded";
    } catch (err) {
      logger.error(
        { err, code: "key_source_failed" },
        `The key source could not be loaded; ${keys.length > 0 ? "the previous keys stay valid" : "there are no keys yet"}.`,
      );
      return "failed";
    }
  }

  // a load that is under way may have read the source before it changed, so wait for one that begins later
  async function loadNext(): Promise<Loading> {
    await Promise.all([current, pace]);
    upcoming = undefined;
    pace = pause(reloadIntervalMs, undefined, { ref: false });
    begunAt = performance.now();
    current = load();
    return current;
  }

  async function counted(loading: () => Promise<Loading>): Promise<Loading> {
    if (waiting >= maxWaiting) return "too_many_waiting";
    waiting += 1;
    try {
      return await loading();
    } finally {
      waiting -= 1;
    }
  }

  function next(): Promise<Loading> {
    upcoming ??= loadNext();
    return upcoming;
  }

  return {
    ...keyringOf(() => keys),
    rotatingAt: (atMs) => atMs < rotation.endMs,
    ready: async () => (keys.length > 0 ? "loaded" : counted(() => current)),
    refresh: () => counted(next),
    refreshIfOld() {
      if (performance.now() - begunAt > oldMs) void next();
    },
  };
}

function isList<T, U>(loaded: readonly T[] | U): loaded is readonly T[] {
  return Array.isArray(loaded);
}

/** When a rotation that is first reported at `nowMs` ends at the latest. A later time is an error in the log. */
function boundedEndMs(reportedEndMs: number, nowMs: number, logger: Logger): number {
  const latestMs = nowMs + longestRotationMs;
  if (reportedEndMs <= latestMs) return reportedEndMs;
  warnOfSetup(
    logger,
    "rotation_too_long",
    `The key source's rotatingUntil is more than 15 minutes ahead: it counts until ${new Date(latestMs).toISOString()}. ` +
      "A rotation takes minutes, and each 503 uses up one of the sender's ten attempts: give the time by which the new key will be in place.",
  );
  return latestMs;
}
