import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { KeySource } from "../verify/key-source.ts";
import { createKeyring, type Secrets } from "../verify/keyring.ts";
import { createLoadedKeyring, type Loading } from "../verify/loaded-keyring.ts";
import { type Proof, prove, type Refusal, type SignedHeaders } from "../verify/signature.ts";
import type { Outcome } from "./outcome.ts";

/** The signing secret of the endpoint: one, several separated by spaces, a list, keys with windows, or a key source. */
export type Secret = Secrets | KeySource;

/** No key matches, but a newer one may. */
export type Undecided = Extract<Outcome, { code: "rotating" | "keys_unavailable" }> & { readonly ok: false };

/** Verifies a signature with the keys that are valid at `atMs`. Asks the key source when none matches. */
export type Verifier = (
  signed: SignedHeaders,
  body: Uint8Array,
  atMs: number,
) => Promise<Proof | Refusal | Undecided>;

/** Throws `missing_secret` or `invalid_secret` when the secret is not a source and cannot be right. */
export function createVerifier(secret: Secret | undefined, clock: Clock, logger: Logger): Verifier {
  if (!isKeySource(secret)) {
    const keyring = createKeyring(secret);
    return async (signed, body, atMs) => prove(signed, body, keyring.keysAt(atMs));
  }
  const keyring = createLoadedKeyring(secret, clock, logger);
  return async (signed, body, atMs) => {
    const ready = await keyring.ready();
    if (ready === "too_many_waiting") return keysUnavailable(ready);
    const first = prove(signed, body, keyring.keysAt(atMs));
    if (first.ok) {
      keyring.refreshIfOld();
      return first;
    }
    const refreshed = await keyring.refresh();
    if (refreshed !== "loaded") return keysUnavailable(refreshed);
    const second = prove(signed, body, keyring.keysAt(atMs));
    return second.ok || !keyring.rotatingAt(atMs) ? second : { ok: false, code: "rotating" };
  };
}

function keysUnavailable(loading: Exclude<Loading, "loaded">): Undecided {
  const failed = loading === "failed";
  const reason = failed
    ? "the key source could not be loaded"
    : "too many deliveries wait for the key source";
  return { ok: false, code: "keys_unavailable", reason };
}

function isKeySource(secret: Secret | undefined): secret is KeySource {
  return (
    typeof secret === "object" && secret !== null && "load" in secret && typeof secret.load === "function"
  );
}
