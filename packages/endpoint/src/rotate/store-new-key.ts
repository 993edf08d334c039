import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import type { Move } from "../change/advance.ts";
import {
  endKeys,
  fingerprintOf,
  hasGotKey,
  keysOfEndpoint,
  ownerIn,
  storedSecret,
  withKey,
} from "../change/endpoint-keys.ts";
import { arrivalUntil, holdingOff, holdOffUntil } from "../change/service-call.ts";
import { type AtCall, type AtForm, type AtStored, begunOf } from "./rotation-record.ts";
import type { RotationRun } from "./rotation-run.ts";

/** Returns the move that stores the new secret: as a key, or as it is if receivers could not read it. The service may not show the secret again. */
export function withSecret(
  run: RotationRun,
  at: AtCall | AtForm,
  { secret, rotatedAt }: Pick<AtForm, "secret" | "rotatedAt">,
  record: KeyRecord,
): Move<"form" | "stored"> {
  const { clock, logger, endpoint, overlapMs, secretForm, isOnly } = run;
  const nowMs = clock.now();
  const isFinishedElsewhere = (now: KeyRecord) => hasGotKey(now, record, endpoint);
  const key = storedSecret(secret, secretForm, record);
  if (key === undefined) {
    const nextStep: AtForm = { ...begunOf(at), step: "form", secret, rotatedAt };
    return {
      nextStep,
      keys: holdingOff(nowMs),
      secret: { isFinishedElsewhere },
      whenWritten() {
        throw unreadable(holdOffUntil(nowMs));
      },
    };
  }
  const endMs = nowMs + overlapMs;
  const owner = ownerIn(record, endpoint, isOnly, nowMs);
  const nextStep: AtStored = {
    ...begunOf(at),
    rotatedAt,
    step: "stored",
    newKey: fingerprintOf(key),
    oldKeys: keysOfEndpoint(record.keys, owner).map(fingerprintOf),
    oldKeysEndAt: new Date(endMs).toISOString(),
  };
  return {
    nextStep,
    keys: ({ keys }) => ({
      keys: withKey(endKeys(keys, owner, endMs), key, endpoint),
      rotatingUntil: arrivalUntil(nowMs),
    }),
    secret: { isFinishedElsewhere },
    whenWritten: () => void logger.info({ endpoint, key: nextStep.newKey }, "The new key is stored."),
  };
}

function unreadable(until: string): WebhookError {
  return new WebhookError(
    "invalid_secret",
    "The service's new secret cannot be read in the expected form. It is kept in the key store, and no receiver uses it yet.",
    `Rotate again with the option secretForm before ${until}: hex, base64 or utf8. Receivers answer 503 until then.`,
    { option: "secretForm" },
  );
}
