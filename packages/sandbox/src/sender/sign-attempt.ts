import { createKeyring, type SigningKey, sign } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import type { Service } from "../base/service.ts";
import type { DeliveryFault } from "../faults/fault.ts";
import type { Attempt } from "./attempt.ts";

const wrongSecret = newSecret();

/** The signature's headers, made with the endpoint's secret as it is now. */
export type SignAttempt = (attempt: Attempt, fault: DeliveryFault | undefined) => Record<string, string>;

export function attemptSigner({ clock, switches }: Service): SignAttempt {
  const keys = new Map<string, SigningKey>();

  function keyOf(secret: string): SigningKey {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const [key] = createKeyring([{ secret: written(secret) }]).keysAt(0) as [SigningKey];
    if (keys.size >= maxKeys) keys.clear(); // rotated secrets do not gather
    keys.set(secret, key);
    return key;
  }

  return ({ eventId, body, createdAt, signingSecret, previousSecret }, fault) => {
    const secret =
      fault?.kind === "wrong_signature"
        ? wrongSecret
        : fault?.kind === "old_signature"
          ? (previousSecret ?? wrongSecret)
          : signingSecret;
    const ageMs = switches.timestampPer === "delivery" ? clock.now() - createdAt : 0;
    const timestamp = new Date(Date.now() - ageMs);
    return { ...sign({ id: eventId, body, timestamp }, keyOf(secret)) };
  };
}

const maxKeys = 1000;

/** A secret of the switch `secretFormat: custom` is the key's bytes in hexadecimal. */
function written(secret: string): string {
  return secret.startsWith("whsec_") ? secret : `hex:${secret}`;
}
