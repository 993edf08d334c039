import type { ApiClient, EndpointWithSecret } from "@esim-webhooks/client";
import type { KeyRecord, KeyStore } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { type SecretForm, secretText } from "../base/secret-form.ts";
import type { Creation } from "./creation.ts";
import { isRefusal, takeStep } from "./take-step.ts";

/** What a key store has, or does not have yet. */
export interface KeyStoreState {
  readonly record: KeyRecord;
  readonly version: string | undefined;
}

export const emptyStore: KeyStoreState = { record: { keys: [] }, version: undefined };

export interface AdvanceOptions {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly keyStore: KeyStore;
  readonly secretForm: SecretForm | undefined;
  readonly signal: AbortSignal | undefined;
  /** The change that follows when the secret is in the key store. Undefined: none. */
  readonly changeAfter: (made: EndpointWithSecret) => KeyRecord["change"];
}

/** How long receivers answer 503 to the signatures of a secret that nobody has yet, and how much of it a step needs. */
const windowMs = 10 * 60_000;
const neededMs = 5 * 60_000;
/** How long an attempt may be under way. */
const arrivalMs = 60_000;

/**
 * Does the next step of a creation and writes what came of it, both in the key store. Resolves to the endpoint once its secret is
 * there; to undefined when there is another step, or somebody else has changed the store: read it again.
 */
export async function advance(
  { record, version }: KeyStoreState,
  creation: Creation,
  { api, keyStore, secretForm, signal, changeAfter }: AdvanceOptions,
): Promise<EndpointWithSecret | undefined> {
  if (!(dateTimeMs(record.rotatingUntil) > Date.now() + neededMs)) {
    await keyStore.write(begun(record, creation), version);
    return undefined;
  }
  try {
    const taken = await takeStep(api, creation, signal);
    if ("next" in taken) {
      await keyStore.write(begun(record, taken.next), version);
      return undefined;
    }
    const { signingSecret, webhookEndpointReference: endpoint } = taken.made;
    const keys = [...record.keys, { secret: secretText(signingSecret, secretForm), endpoint }];
    const change = changeAfter(taken.made);
    // attempts that are under way may carry the secret that nobody has
    const until = creation.step === "rotate" ? { rotatingUntil: dateTime(Date.now() + arrivalMs) } : {};
    const written = await keyStore.write({ keys, ...until, ...(change && { change }) }, version);
    return written ? taken.made : undefined;
  } catch (error) {
    if (isRefusal(error)) await keyStore.write({ keys: record.keys }, version);
    throw error;
  }
}

/** The record with the step that is next. Meanwhile receivers hold off what is signed with the secret that comes. */
export function begun(record: KeyRecord, creation: Creation): KeyRecord {
  return { ...record, rotatingUntil: dateTime(Date.now() + windowMs), change: { ...creation } };
}

function dateTime(ms: number): string {
  return new Date(ms).toISOString();
}
