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
import { isRoundedNumber } from "./fields.ts";

export interface TrustSettings {
  readonly secret?: Secrets | undefined;
  readonly toleranceSeconds: ToleranceSeconds;
  readonly trustUnsigned: boolean;
  /** False: an unsigned record whose id a spreadsheet may have rounded is refused. Only files have passed through one. */
  readonly acceptRoundedIds?: boolean;
}

/**
 * Verifies the signature of a captured request, with the keys that were valid when it was received. Without a signature:
 * throws `unsigned_dump` unless the operator trusts unsigned records, and else returns the captured bytes, or null if the
 * body must be rebuilt. The id is the one that was signed, where there is a signature.
 */
export type TrustCheck = (event: DumpedEvent) => Trusted | Refusal | RoundedId | null;

interface RoundedId {
  readonly code: "rounded_id";
  readonly reason: string;
}

const roundedId: RoundedId = {
  code: "rounded_id",
  reason:
    "its id is a number that a spreadsheet has rounded, such as 1.23E+17, so other events may have the same text: export the column as text, or accept such ids with acceptRoundedIds (--accept-rounded-ids)",
};

interface Trusted {
  readonly id: string;
  readonly body: Uint8Array;
}

export function createTrustCheck({
  secret,
  toleranceSeconds,
  trustUnsigned,
  acceptRoundedIds = true,
}: TrustSettings): TrustCheck {
  let keyring: Keyring | undefined;
  return ({ id, request }) => {
    if (request?.isSigned) {
      keyring ??= createKeyring(secret); // most dumps need no key
      return verifyRequest(request, keyring, toleranceSeconds);
    }
    if (!trustUnsigned) throw unsigned();
    if (!acceptRoundedIds && isRoundedNumber(id)) return roundedId;
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
