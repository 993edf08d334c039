import type { ApiClient, EndpointWithSecret } from "@esim-webhooks/client";
import { type KeyRecord, type KeyStore, type Logger, WebhookError } from "@esim-webhooks/core";
import type { SecretForm } from "../base/options.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { hasGotKey, storedSecret, withKey, withoutEnded } from "../change/endpoint-keys.ts";
import { arrivalUntil, holdOffUntil, isHeldOff } from "../change/service-call.ts";
import { type KeyStoreState, writeRecord, writeSecret } from "../change/write-record.ts";
import type { Creation } from "./creation.ts";
import { takeStep } from "./take-step.ts";

export interface RegistrarParts {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly keyStore: KeyStore;
  readonly clock: WaitingClock;
  readonly logger: Logger;
  readonly secretForm: SecretForm | undefined;
  readonly signal: AbortSignal;
}

/** Takes the steps of creations, for one run. */
export interface Registrar {
  /** Writes the first step of a creation, unless the key store has changed since it was read: what was listed may be done by now. */
  begin(stored: KeyStoreState, creation: Creation): Promise<void>;
  /**
   * Does the next step of a creation and writes what came of it, both in the key store. Resolves to the endpoint once its secret is
   * there; to undefined when there is another step, the creation must begin anew, or another process has gone on: read the store again.
   *
   * @param changeAfter The change that follows when the secret is in the key store; undefined: none.
   */
  advance(
    record: KeyRecord,
    creation: Creation,
    changeAfter: (made: EndpointWithSecret) => KeyRecord["change"],
  ): Promise<EndpointWithSecret | undefined>;
}

export function createRegistrar({
  api,
  keyStore,
  clock,
  logger,
  secretForm,
  signal,
}: RegistrarParts): Registrar {
  /** The keys that this run has made. A call under another key may have been made before. */
  const ownKeys = new Set<string>();

  /** The record with the step that is next. Meanwhile receivers hold off what is signed with the secret that comes. */
  function withStep(record: KeyRecord, creation: Creation): KeyRecord {
    return { ...record, rotatingUntil: holdOffUntil(clock.now()), change: { ...creation } };
  }

  return {
    async begin({ record, version }, creation) {
      ownKeys.add(creation.idempotencyKey);
      await keyStore.write(withStep(record, creation), version);
    },
    async advance(record, creation, changeAfter) {
      const write = (next: (record: KeyRecord) => KeyRecord) =>
        writeRecord(keyStore, record.change, next, clock);
      if (!isHeldOff(record, clock.now())) {
        await write((now) => withStep(now, creation));
        return undefined;
      }
      const isContinued = !ownKeys.has(creation.idempotencyKey);
      const taken = await takeStep({ api, creation, isContinued, nowMs: clock.now(), signal });
      if ("next" in taken) {
        const { next, error } = taken;
        if (next !== undefined) ownKeys.add(next.idempotencyKey);
        await write((now) => (next === undefined ? { keys: now.keys } : withStep(now, next)));
        if (error !== undefined) throw error;
        return undefined;
      }
      const { signingSecret, webhookEndpointReference: endpoint } = taken.made;
      const secret = storedSecret(signingSecret, secretForm, record);
      if (secret === undefined) throw unreadable();
      const change = changeAfter(taken.made);
      const nowMs = clock.now();
      const stored = ({ keys }: KeyRecord): KeyRecord => ({
        keys: withKey(withoutEnded(keys, nowMs), secret, endpoint),
        // attempts that are under way may carry the secret that nobody has
        ...(creation.step === "rotate" && { rotatingUntil: arrivalUntil(nowMs) }),
        ...(change && { change }),
      });
      const isFinished = (now: KeyRecord) => hasGotKey(now, record, endpoint);
      const secretWrite = { at: record.change, next: stored, isFinished };
      const written = await writeSecret(keyStore, secretWrite, { clock, logger });
      return written && taken.made;
    },
  };
}

function unreadable(): WebhookError {
  return new WebhookError(
    "invalid_secret",
    "The endpoint is registered, but its secret cannot be read in the expected form.",
    "Run it again with secretForm: hex, base64 or utf8. It continues with the same endpoint.",
  );
}
