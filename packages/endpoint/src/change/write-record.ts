import { isDeepStrictEqual } from "node:util";
import {
  type CoreErrorCode,
  type KeyRecord,
  type KeyStore,
  type Logger,
  WebhookError,
} from "@esim-webhooks/core";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { storeSecretMs } from "./service-call.ts";

/** The content of a key store; without a version if it has no record yet. */
export interface KeyStoreState {
  readonly record: KeyRecord;
  readonly version: string | undefined;
}

const emptyStore: KeyStoreState = { record: { keys: [] }, version: undefined };
/** The time between two tries, in ms. */
const pauseMs = 1000;
/** How long reading or writing a step is tried again while the store is unavailable, in ms. */
const stepMs = 10_000;
/** The time between two warnings that a secret is not stored yet, in ms. */
const warnEveryMs = 30_000;

/** Reads the key store. Resolves to a record without keys if the store has no record. */
export async function readKeys(keyStore: KeyStore): Promise<KeyStoreState> {
  return (await keyStore.read()) ?? emptyStore;
}

/** As `readKeys`, for a run that is under way: tries for ten seconds while the store is unavailable. */
export async function readKeysAgain(keyStore: KeyStore, clock: WaitingClock): Promise<KeyStoreState> {
  return untilItWorks(() => readKeys(keyStore), clock, { forMs: stepMs, mayPass: isUnavailable });
}

/**
 * Writes the next record if the store's `change` is still `at` (undefined: no change is under way). What another program has done to the
 * keys meanwhile stays. If the answer of a write is lost, the `change` of the record shows whether the write took effect. A write that does
 * not alter the `change` is then repeated. Tries for ten seconds while the store is unavailable.
 *
 * Resolves to the record; to undefined when the change is at another step, since another process has moved it on.
 */
export async function writeRecord(
  keyStore: KeyStore,
  at: object | undefined,
  next: (now: KeyRecord) => KeyRecord,
  clock: WaitingClock,
): Promise<KeyRecord | undefined> {
  const attempt = swapAttempt(keyStore, next, {
    read: () => readKeys(keyStore),
    isAt: ({ change }) => isDeepStrictEqual(change, at),
  });
  return untilItWorks(attempt, clock, { forMs: stepMs, mayPass: isUnavailable });
}

/** A record with a new secret, of which there may be no other copy. */
export interface SecretWrite {
  readonly at: object | undefined;
  readonly next: (now: KeyRecord) => KeyRecord;
  /** Whether a record that has no `change` shows that another process has finished the change: then the secret may be an old one. */
  readonly isFinishedElsewhere: (now: KeyRecord) => boolean;
}

/**
 * Writes a record with a new secret, as `writeRecord` does. If another program has meanwhile written a record that has no `change`, that
 * record gets the secret, too, unless `isFinishedElsewhere`. If the store is empty or fails, tries again for four minutes, with warnings.
 */
export async function writeSecret(
  keyStore: KeyStore,
  { at, next, isFinishedElsewhere }: SecretWrite,
  { clock, logger }: { readonly clock: WaitingClock; readonly logger: Logger },
): Promise<KeyRecord | undefined> {
  const attempt = swapAttempt(keyStore, next, {
    async read() {
      const stored = await keyStore.read();
      const { keys = [], change } = stored?.record ?? {};
      if (stored !== undefined && (keys.length > 0 || change !== undefined)) return stored;
      throw new WebhookError("missing_secret", "The key store is empty.", "Put its keys back.");
    },
    isAt: (now) =>
      isDeepStrictEqual(now.change, at) || (now.change === undefined && !isFinishedElsewhere(now)),
  });
  const until = new Date(clock.now() + storeSecretMs).toISOString();
  let warnedAt = Number.NEGATIVE_INFINITY;
  try {
    return await untilItWorks(attempt, clock, {
      forMs: storeSecretMs,
      mayPass: () => true,
      failed(error) {
        if (clock.now() - warnedAt < warnEveryMs) return;
        warnedAt = clock.now();
        logger.warn({ until }, notYetStored(error, until));
      },
    });
  } catch (cause) {
    throw new WebhookError(
      WebhookError.is(cause) ? (cause.code as CoreErrorCode) : "store_unavailable",
      `The new secret could not be stored. ${failureText(cause)}`,
      "Fix the key store, and run this again soon: the same call may show the secret once more.",
      { cause },
    );
  }
}

function notYetStored(error: unknown, until: string): string {
  return `The new secret is not stored yet, so receivers answer 503 to deliveries that are signed with it, and the service sends them again later. ${failureText(error)} Fix the key store: storing the secret is tried again every second, until ${until}.`;
}

function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface Swap {
  read(): Promise<KeyStoreState>;
  /** Whether the record is still the one to change. */
  isAt(now: KeyRecord): boolean;
}

/**
 * Returns one attempt to write by compare-and-swap, to be repeated. It resolves to `swapFailed` when another program has written since it
 * read, and to undefined when another process has moved the change on.
 */
function swapAttempt(
  keyStore: KeyStore,
  next: (now: KeyRecord) => KeyRecord,
  { read, isAt }: Swap,
): () => Promise<KeyRecord | undefined | typeof swapFailed> {
  let written: KeyRecord | undefined;
  return async () => {
    const { record, version } = await read();
    if (!isAt(record)) {
      const isWritten = written !== undefined && isDeepStrictEqual(record.change, written.change);
      return isWritten ? record : undefined;
    }
    const wanted = next(record);
    written = wanted;
    if (await keyStore.write(wanted, version)) return wanted;
    written = undefined;
    return swapFailed;
  };
}

const swapFailed = Symbol("swapFailed");

interface Patience {
  readonly forMs: number;
  /** Whether the same attempt may succeed later. */
  mayPass(error: unknown): boolean;
  /** Called after each failed attempt that is to be repeated, except after the first failed swap. */
  failed?(error: unknown): void;
}

/**
 * Repeats an attempt every second until it succeeds, `forMs` has passed, or `mayPass` refuses its error. Rejects with the last error.
 * Ignores the signal of the run on purpose: a new secret that is not stored would be lost, and everything else is tried for ten seconds only.
 */
async function untilItWorks<Result>(
  attempt: () => Promise<Result | typeof swapFailed>,
  clock: WaitingClock,
  { forMs, mayPass, failed }: Patience,
): Promise<Result> {
  const endsAt = clock.now() + forMs;
  for (let failedSwaps = 0; ; ) {
    try {
      const result = await attempt();
      if (result !== swapFailed) return result as Result;
      failedSwaps += 1;
      if (failedSwaps > 1 || clock.now() >= endsAt) throw writesRefused();
    } catch (error) {
      if (!mayPass(error) || clock.now() >= endsAt) throw error;
      failed?.(error);
    }
    await clock.wait(pauseMs, new AbortController().signal);
  }
}

function isUnavailable(error: unknown): boolean {
  return WebhookError.is(error) && error.code === "store_unavailable";
}

function writesRefused(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    "The key store accepted no write: each time it answered that another program had written before.",
    "Stop the other program. If the key store is your own, its write() must accept a write with the version of the last read.",
  );
}
