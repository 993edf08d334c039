import { WebhookError } from "../errors.ts";
import { createKeyring, type Keyring, type Secrets } from "../keyring.ts";
import { type Refusal, verify } from "../signature.ts";
import type { CapturedRequest, DumpedEvent } from "./dumped-event.ts";

export interface ProofSettings {
  readonly secret?: Secrets | undefined;
  readonly toleranceSeconds: number;
  readonly trustUnsigned: boolean;
}

/**
 * Proves what a dump holds: a captured request by its signature, with the keys of the time at which it was received.
 * What has no signature is the operator's own word; without it, throws `unsigned_dump`. Undefined: it is as good as proven.
 */
export type Prover = (event: DumpedEvent) => { readonly body: Uint8Array } | Refusal | undefined;

export function createProver({ secret, toleranceSeconds, trustUnsigned }: ProofSettings): Prover {
  let keyring: Keyring | undefined;
  return ({ request }) => {
    if (request?.isSigned) {
      keyring ??= createKeyring(secret); // most dumps need none
      return proveRequest(request, keyring, toleranceSeconds);
    }
    if (!trustUnsigned) throw unsigned();
    return request?.bodies[0] && { body: request.bodies[0] };
  };
}

function proveRequest(
  { headers, bodies, isGuess, receivedAt }: CapturedRequest,
  keyring: Keyring,
  toleranceSeconds: number,
): { readonly body: Uint8Array } | Refusal | undefined {
  let first: Refusal | undefined;
  for (const body of bodies) {
    const proof = verify({ headers, body }, keyring, { at: receivedAt, toleranceSeconds });
    if (proof.ok) return { body };
    first ??= proof;
  }
  if (first?.code !== "no_matching_key" || !isGuess) return first;
  return { ...first, reason: `${first.reason}; its body was captured as an object, so its bytes are a guess` };
}

function unsigned(): WebhookError {
  return new WebhookError(
    "unsigned_dump",
    "The dump has records without a signature, as the deliveries listing does: nothing proves who wrote them.",
    "If you know where it comes from, say so: { trustUnsigned: true }.",
  );
}
