import {
  createKeyring,
  type Keyring,
  type Refusal,
  type Secrets,
  verify,
  WebhookError,
} from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";
import type { DumpedEvent, ReceivedRequest } from "./dumped-event.ts";

export interface ProofSettings {
  readonly secret?: Secrets | undefined;
  readonly toleranceSeconds: number;
  readonly trustUnsigned: boolean;
}

/**
 * Proves what a dump holds: a captured request by its signature, with the keys of the time at which it was received.
 * What has no signature is the operator's own word; without it, throws `unsigned_dump`. Null: it is taken as it is.
 */
export type Prover = (event: DumpedEvent) => { readonly body: Uint8Array } | Refusal | null;

export function createProver({ secret, toleranceSeconds, trustUnsigned }: ProofSettings): Prover {
  let keyring: Keyring | undefined;
  return ({ request }) => {
    if (request?.isSigned) {
      keyring ??= createKeyring(secret); // most dumps need none
      return proveRequest(request, keyring, toleranceSeconds);
    }
    if (!trustUnsigned) throw unsigned();
    return request !== null && !request.isGuess ? { body: request.bodies[0] } : null;
  };
}

function proveRequest(
  { headers, bodies, isGuess, receivedAt }: ReceivedRequest,
  keyring: Keyring,
  toleranceSeconds: number,
): { readonly body: Uint8Array } | Refusal {
  let refusal: Refusal = { ok: false, code: "no_matching_key", reason: "it has no body" };
  for (const body of bodies) {
    const proof = verify({ headers, body }, keyring, { at: receivedAt, toleranceSeconds });
    if (proof.ok) return { body };
    refusal = proof;
  }
  if (refusal.code !== "no_matching_key" || !isGuess) return refusal;
  return { ...refusal, reason: "no key made its signature; its body is an object, whose bytes are a guess" };
}

function unsigned(): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "unsigned_dump",
    "The dump has records without a signature, as the deliveries listing does: nothing proves who wrote them.",
    "If you know where it comes from, say so: { trustUnsigned: true }.",
  );
}
