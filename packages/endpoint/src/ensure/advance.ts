import type { ApiClient, EndpointWithSecret } from "@esim-webhooks/client";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { withKey } from "../base/endpoint-keys.ts";
import { holdOffUntil, isHeldOff } from "../base/hold-off.ts";
import { type SecretForm, secretText } from "../base/secret-form.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { writeStep } from "../base/write-step.ts";
import type { Creation } from "./creation.ts";
import { isRefusal, takeStep } from "./take-step.ts";

export interface AdvanceOptions {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly keyStore: KeyStore;
  readonly clock: WaitingClock;
  readonly secretForm: SecretForm | undefined;
  readonly signal: AbortSignal | undefined;
  /** The change that follows when the secret is in the key store. Undefined: none. */
  readonly changeAfter: (made: EndpointWithSecret) => KeyRecord["change"];
}

/** How long an attempt may be under way. */
const arrivalMs = 60_000;

/**
 * Does the next step of a creation and writes what came of it, both in the key store. Resolves to the endpoint once its secret is
 * there; to undefined when there is another step, or another process has gone on: read the store again.
 */
export async function advance(
  record: KeyRecord,
  creation: Creation,
  { api, keyStore, clock, secretForm, signal, changeAfter }: AdvanceOptions,
): Promise<EndpointWithSecret | undefined> {
  const write = (next: (record: KeyRecord) => KeyRecord) => writeStep(keyStore, record.change, next, clock);
  if (!isHeldOff(record, clock.now())) {
    await write((now) => begun(now, creation, clock.now()));
    return undefined;
  }
  try {
    const taken = await takeStep(api, creation, clock.now(), signal);
    if ("next" in taken) {
      await write((now) => begun(now, taken.next, clock.now()));
      return undefined;
    }
    const { signingSecret, webhookEndpointReference: endpoint } = taken.made;
    const secret = secretText(signingSecret, secretForm);
    if (secret === undefined) throw unreadable();
    const change = changeAfter(taken.made);
    // attempts that are under way may carry the secret that nobody has
    const until = new Date(clock.now() + arrivalMs).toISOString();
    const written = await write(({ keys }) => ({
      keys: withKey(keys, secret, endpoint),
      ...(creation.step === "rotate" && { rotatingUntil: until }),
      ...(change && { change }),
    }));
    return written && taken.made;
  } catch (error) {
    if (isRefusal(error)) await write(({ keys }) => ({ keys }));
    throw error;
  }
}

/** The record with the step that is next. Meanwhile receivers hold off what is signed with the secret that comes. */
export function begun(record: KeyRecord, creation: Creation, nowMs: number): KeyRecord {
  return { ...record, rotatingUntil: holdOffUntil(nowMs), change: { ...creation } };
}

function unreadable(): WebhookError {
  return new WebhookError(
    "invalid_secret",
    "The endpoint is registered, but its secret cannot be read in the expected form.",
    "Run it again with secretForm (--secret-form): hex, base64 or utf8. It continues with the same endpoint.",
  );
}
