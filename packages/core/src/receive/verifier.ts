import type { Awaitable } from "../base/awaitable.ts";
import type { Clock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { SignedHeaders } from "../verify/headers.ts";
import { createLoadedKeyring, type KeySource, type Loading, type Waiters } from "../verify/key-source.ts";
import { createKeyring, type Keyring, type Secrets, secretVariable } from "../verify/keyring.ts";
import type { Refusal } from "../verify/refusal.ts";
import { type Proof, prove } from "../verify/signature.ts";
import type { Outcome } from "./outcome.ts";

/** The signing secret of the endpoint: one, several, keys with windows, or a key source. See `Secrets` for its forms. */
export type Secret = Secrets | KeySource;

/** The options of a receiver, as far as they are about its secret. */
export interface SecretOption {
  secret?: Secret;
}

/** No key matches, but a newer one may; or there is no key yet; or the endpoint may have been removed. */
export type Undecided = Extract<
  Outcome,
  { code: "rotating" | "keys_unavailable" | "missing_secret" | "endpoint_unconfirmed" }
> & {
  readonly ok: false;
};

export interface Verifier {
  /** Verifies a signature with the keys that are valid at `atMs`: synchronously, or with a promise if there is a key source to ask. */
  verify(signed: SignedHeaders, body: Uint8Array, atMs: number): Awaitable<Proof | Refusal | Undecided>;
  /** Resolves once there are keys. Rejects with `missing_secret`, or with `keys_unavailable` if the key source could not be loaded. */
  ready(): Promise<void>;
}

/**
 * A comparison of a signature with the keys, including the wait for a key source. Published on `tracing:esim-webhooks:verify:*`.
 * A delivery without readable signature headers or a whole body is not compared; it is seen only in `receive`.
 */
export interface VerifyMessage extends StageMessage {
  /** The name of the endpoint whose keys are compared. */
  readonly source: string;
  /** Read from the headers, in any form. Authentic only if there is a `key`. */
  readonly id: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  /**
   * The fingerprint of the key that made the signature although its window has ended, so that the delivery is refused. Absent if its
   * timestamp is out of tolerance: anybody can replay an old delivery.
   */
  readonly endedKey?: string;
  /** `verified`, or the code with which the delivery is refused or put off. */
  readonly outcome: "verified" | Refusal["code"] | Undecided["code"] | "internal_error";
}

export const verifyStage: Stage<VerifyMessage, "key" | "endedKey"> = createStage("verify", "internal_error");

/**
 * Makes a verifier. Throws `missing_secret` or `invalid_secret` when the secret is not a key source and cannot be right.
 * @param waiters the number of waiting deliveries, for key sources that share its limit
 */
export function createVerifier(
  options: SecretOption,
  clock: Clock,
  logger: Logger,
  waiters?: Waiters,
): Verifier {
  const keys = keysOf(options);
  if (!isKeySource(keys)) {
    return { verify: (signed, body, atMs) => prove(signed, body, keys, atMs), async ready() {} };
  }
  const keyring = createLoadedKeyring(keys, clock, logger, waiters);
  return {
    async verify(signed, body, atMs) {
      const ready = await keyring.ready();
      if (ready === "too_many_waiting") return keysUnavailable(ready);
      const first = prove(signed, body, keyring, atMs);
      if (first.ok || first.code === "unusable_header") {
        return (await keyring.refreshIfOld()) ? prove(signed, body, keyring, atMs) : first;
      }
      const refreshed = await keyring.refresh();
      if (refreshed !== "loaded") return keysUnavailable(refreshed);
      const second = prove(signed, body, keyring, atMs);
      const isUnknown = !second.ok && second.code === "no_matching_key";
      return isUnknown && keyring.rotatingAt(atMs) ? { ok: false, code: "rotating" } : second;
    },
    async ready() {
      if ((await keyring.ensureLoaded()) === "loaded") return;
      throw new WebhookError(
        "keys_unavailable",
        "The key source could not be loaded, and there are no keys.",
        "See its error in the log.",
      );
    },
  };
}

/**
 * Like `createVerifier`, but does not throw `missing_secret`. Until there is a secret, no delivery can be decided, and the first
 * delivery logs what to set. A key source is loaded for the first delivery, or for `ready`.
 */
export function createVerifierOnDemand(options: SecretOption, clock: Clock, logger: Logger): Verifier {
  let isWarned = false;
  let isMissing = true;
  let made: Verifier;

  function current(): Verifier {
    if (isMissing) made = attempt();
    return made;
  }

  function attempt(): Verifier {
    try {
      const verifier = createVerifier(options, clock, logger);
      isMissing = false;
      return verifier;
    } catch (error) {
      if (!WebhookError.is(error) || error.code !== "missing_secret") throw error;
      return {
        verify() {
          if (!isWarned) warnOfSetup(logger, error.code, error.message);
          isWarned = true;
          return { ok: false, code: "missing_secret" };
        },
        ready: () => Promise.reject(error),
      };
    }
  }

  if (!isKeySource(options.secret)) current(); // not a key source: a build loads the module, too, and Cloudflare Workers allow no I/O while it loads
  return {
    verify: (...given) => current().verify(...given),
    ready: async () => current().ready(),
  };
}

/** The key source, or the keyring of the given keys. Throws as `createVerifier` does, and loads nothing. */
function keysOf(options: SecretOption): KeySource | Keyring {
  const { secret } = options;
  if (isKeySource(secret)) return secret;
  if (secret !== undefined || !("secret" in options)) return createKeyring(secret);
  throw new WebhookError(
    "missing_secret",
    "The secret option is undefined: it may come from a variable that is not set.",
    `Set that variable, or leave the option out to use ${secretVariable()}.`,
  );
}

/** The fingerprints of the keys that are valid at `atMs` or later. None if the secret is a key source, and none without a secret. */
export function knownKeys(options: SecretOption, atMs: number): readonly string[] {
  try {
    const keys = keysOf(options);
    if (isKeySource(keys)) return [];
    return [...keys.keysAt(atMs), ...keys.keysAfter(atMs)].map(({ fingerprint }) => fingerprint);
  } catch {
    return []; // the verifier reports a missing secret
  }
}

function keysUnavailable(loading: Exclude<Loading, "loaded">): Undecided {
  const failed = loading === "failed";
  const reason = failed
    ? "the key source could not be loaded"
    : "too many deliveries wait for the key source";
  return { ok: false, code: "keys_unavailable", reason };
}

/** Whether the secret is a key source, from which keys are loaded. */
export function isKeySource(secret: Secret | Keyring | undefined): secret is KeySource {
  return (
    typeof secret === "object" && secret !== null && "load" in secret && typeof secret.load === "function"
  );
}
