import { type Clock, dateTimeMs } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import { createDeadline, sleep } from "../base/waiting.ts";
import { type Keyring, keyringOf, prepareKeys, type Secrets } from "./keyring.ts";
import type { Key, SigningKey } from "./signing-key.ts";

/** The keys that a key source has loaded. */
export interface LoadedKeys {
  /** All keys that are valid now, or will be. Keys that are left out are no longer used. */
  readonly keys: Secrets;
  /**
   * A rotation is under way until this time. Until then a signature that matches no key is answered 503, not 401,
   * because its key may not have been loaded yet. At most 15 minutes ahead.
   */
  readonly rotatingUntil?: Date | string | null | undefined;
}

/**
 * Where keys come from when they change while the process runs: a secret manager, a file, a table. Loaded at start (by
 * `webhookHandler`: for the first delivery), and again, at most once a second, when a signature matches no key or the keys are a
 * minute old.
 */
export interface KeySource {
  /** Resolves to the current keys. When it rejects or has no keys, the previously loaded keys stay valid. */
  load(): Promise<readonly (string | Uint8Array | Key)[] | LoadedKeys>;
}

/** A keyring whose keys come from a key source. */
export interface LoadedKeyring extends Keyring {
  /** Waits for the current load while there are no keys. Counts among the deliveries that wait, of which there is a limit. */
  ready(): Promise<Loading>;
  /**
   * Waits for the current load while there are no keys, and loads again if that fails, since perhaps no delivery causes a load. Not counted among the
   * deliveries that wait: it holds no body, and forged deliveries cannot keep it out.
   */
  ensureLoaded(): Promise<Loading>;
  /**
   * Waits for a load that begins after this call, and so sees the newest keys. Concurrent calls share one load.
   */
  refresh(): Promise<Loading>;
  /**
   * Loads again if the last load began more than a minute ago, since keys may have been withdrawn. Usually in the background, and returns false.
   * If that load began more than two minutes ago, since no delivery came, resolves to true once the new one has ended: a signature that has
   * matched must then be verified again.
   */
  refreshIfOld(): boolean | Promise<boolean>;
  /** Whether the source says that a rotation is under way. */
  rotatingAt(atMs: number): boolean;
}

/** How a load ended. The newest keys are known only after `loaded`. */
export type Loading = "loaded" | "failed" | "too_many_waiting";

/** The number of deliveries that wait for loads of several key sources, and its limit: each delivery holds its body. */
export interface Waiters {
  count: number;
  readonly most: number;
}

const reloadIntervalMs = 1000;
const loadTimeoutMs = 5000;
const maxWaiting = 100;
const oldMs = 60_000;
/** The sender makes ten attempts, and each 503 uses one up: a longer window exhausts more deliveries than it saves. */
const longestRotationMs = 15 * 60_000;

/**
 * Loads the keys immediately, and again when a function of the keyring needs newer ones, at most once a second.
 * @param all the number of deliveries that wait for this source and others; at most 100 of them wait for this one
 */
export function createLoadedKeyring(
  source: KeySource,
  clock: Clock,
  logger: Logger,
  all: Waiters = { count: 0, most: maxWaiting },
): LoadedKeyring {
  let keys: readonly SigningKey[] = [];
  let rotation = { reportedEndMs: 0, endMs: 0 };
  let waiting = 0;
  let nextLoadAt = performance.now() + reloadIntervalMs;
  let lastBegunAt = performance.now(); // of the loads that have ended
  let current = load();
  let upcoming: Promise<Loading> | undefined;
  let old: Promise<Loading> | undefined; // the load for keys that are old

  async function load(): Promise<Loading> {
    const begunAt = performance.now();
    try {
      const deadline = createDeadline(loadTimeoutMs);
      const loaded = await deadline.before(source.load());
      if (loaded === undefined) {
        throw new Error(
          deadline.signal.aborted
            ? `load() did not answer within ${loadTimeoutMs} ms.`
            : "load() resolved to undefined. Return the keys.",
        );
      }
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
    } finally {
      lastBegunAt = begunAt;
    }
  }

  // a load that is under way may have read the source before it changed, so wait for one that begins later
  async function loadNext(): Promise<Loading> {
    // a timer of its own: on Cloudflare Workers, one that is shared ends with the request that has made it
    await Promise.all([current, sleep(Math.max(0, nextLoadAt - performance.now()))]);
    upcoming = undefined;
    nextLoadAt = performance.now() + reloadIntervalMs;
    current = load();
    return current;
  }

  async function waitCounted(loading: () => Promise<Loading>): Promise<Loading> {
    if (waiting >= maxWaiting || all.count >= all.most) return "too_many_waiting";
    waiting += 1;
    all.count += 1;
    try {
      return await loading();
    } finally {
      waiting -= 1;
      all.count -= 1;
    }
  }

  function next(): Promise<Loading> {
    upcoming ??= loadNext();
    return upcoming;
  }

  return {
    ...keyringOf(() => keys),
    rotatingAt: (atMs) => atMs < rotation.endMs,
    ensureLoaded: async () => (keys.length > 0 || (await current) === "loaded" ? "loaded" : next()),
    ready: async () => (keys.length > 0 ? "loaded" : waitCounted(() => current)),
    refresh: () => waitCounted(next),
    refreshIfOld() {
      const ageMs = performance.now() - lastBegunAt;
      if (ageMs <= oldMs) return false;
      old ??= next().finally(() => {
        old = undefined;
      });
      return ageMs > 2 * oldMs && old.then(() => true);
    },
  };
}

/** Whether a key source has loaded a list. */
export function isList<T, U>(loaded: readonly T[] | U): loaded is readonly T[] {
  return Array.isArray(loaded);
}

/** The end of a rotation that is first reported at `nowMs`, at most 15 minutes after that. Logs a later end as an error. */
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

/**
 * Until when `rotatingUntil` says that a rotation is under way, in ms since the Unix epoch; 0 if it says nothing.
 * Throws `invalid_secret` if it is not a date-time.
 */
export function rotationEndMs(rotatingUntil: LoadedKeys["rotatingUntil"]): number {
  if (rotatingUntil === undefined || rotatingUntil === null) return 0;
  const ms = dateTimeMs(rotatingUntil);
  if (!Number.isNaN(ms)) return ms;
  throw new WebhookError(
    "invalid_secret",
    "rotatingUntil is not a date-time.",
    "Give a Date, or a string with its offset, such as 2026-11-20T12:00:00Z.",
  );
}
