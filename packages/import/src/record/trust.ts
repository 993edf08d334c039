import {
  createKeyring,
  type Keyring,
  type Refusal,
  type Secrets,
  type ToleranceSeconds,
  verify,
  WebhookError,
} from "@esim-webhooks/core";
import type { ImportErrorCode } from "../dump/errors.ts";
import type { DumpedEvent, ReceivedRequest } from "./dumped-event.ts";

export interface TrustSettings {
  readonly secret?: Secrets | undefined;
  readonly toleranceSeconds: ToleranceSeconds;
  readonly trustUnsigned: boolean;
}

/**
 * Verifies the signature of a captured request, with the keys that were valid when it was received. Without a signature:
 * throws `unsigned_dump` unless the operator trusts unsigned records, and else returns the captured bytes, or null if the
 * body must be rebuilt. The id is the one that was signed, where there is a signature.
 */
export type TrustCheck = (event: DumpedEvent) => Trusted | Refusal | null;

interface Trusted {
  readonly id: string;
  readonly body: Uint8Array;
}

export function createTrustCheck({ secret, toleranceSeconds, trustUnsigned }: TrustSettings): TrustCheck {
  let keyring: Keyring | undefined;
  return ({ id, request }) => {
    if (request?.isSigned) {
      keyring ??= createKeyring(secret); // most dumps need no key
      return verifyRequest(request, keyring, toleranceSeconds);
    }
    if (!trustUnsigned) throw unsigned();
    return request !== null && !request.isGuess ? { id, body: request.bodies[0] } : null;
  };
}

function verifyRequest(
  { headers, bodies, isGuess, receivedAt }: ReceivedRequest,
  keyring: Keyring,
  toleranceSeconds: ToleranceSeconds,
): Trusted | Refusal {
  let refusal: Refusal = { ok: false, code: "no_matching_key", reason: "it has no body" };
  for (const body of bodies) {
    const proof = verify({ headers, body }, keyring, { at: receivedAt, toleranceSeconds });
    if (proof.ok) return { id: proof.id, body };
    if (proof.code !== "no_matching_key") return proof; // another body would not change that
    refusal = proof;
  }
  if (!isGuess) return refusal;
  return {
    ...refusal,
    reason: "no key matches its signature; its body was captured as an object, so its bytes are a guess",
  };
}

function unsigned(): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "unsigned_dump",
    "The dump has records without a signature, as in the deliveries listing: nothing proves who wrote them.",
    "If you trust the origin of the dump, set { trustUnsigned: true }.",
    { option: "trustUnsigned" },
  );
}
