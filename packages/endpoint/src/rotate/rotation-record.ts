import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import * as z from "zod/mini";
import type { EndpointErrorCode } from "../base/errors.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import type { IdempotentCall } from "../change/service-call.ts";
import type { KeyStoreState } from "../change/write-record.ts";

/** The fields of every step of a rotation, with the idempotency key of its latest call. Times are date-times. */
export interface Begun extends IdempotentCall {
  readonly kind: "rotate";
  readonly endpoint: string;
  /** When the rotation began, by our clock. */
  readonly startedAt: string;
  /** The endpoint's `updatedAt` before the first call. */
  readonly updatedAt: string;
}

/** The service may have replaced the secret, and the new one is not known here. */
export interface AtCall extends Begun {
  readonly step: "call";
}

interface Answered extends Begun {
  /** When the service replaced the secret, by its clock; null if its answer did not show that. */
  readonly rotatedAt: string | null;
}

/** The new secret is kept, but receivers could not read its form. */
export interface AtForm extends Answered {
  readonly step: "form";
  readonly secret: string;
}

/** The new key is stored. Once the old keys have ended, the missed events are recovered, and the old keys are removed. */
export interface AtStored extends Answered {
  readonly step: "stored";
  /** The fingerprints of the new key, and of those that it replaces. */
  readonly newKey: string;
  readonly oldKeys: string[];
  /** When the last of the old keys ends. */
  readonly oldKeysEndAt: string;
}

/** How far a rotation is. It is in the key store, so that the next process can continue, perhaps with another version: the names of the steps stay. */
export type RotationRecord = AtCall | AtForm | AtStored;

const text = z.string();
const begun = {
  kind: z.literal("rotate"),
  endpoint: text,
  startedAt: text,
  idempotencyKey: text,
  keyedAt: text,
  updatedAt: text,
};
const answered = { ...begun, rotatedAt: z.nullable(text) };

const anyStep: z.ZodMiniType<RotationRecord> = z.discriminatedUnion("step", [
  z.strictObject({ ...begun, step: z.literal("call") }),
  z.strictObject({ ...answered, step: z.literal("form"), secret: text }),
  z.strictObject({
    ...answered,
    step: z.literal("stored"),
    newKey: text,
    oldKeys: z.array(text),
    oldKeysEndAt: text,
  }),
]);

/** The rotation of this endpoint that is under way, if one is. Throws `change_under_way` for any other change. */
export function rotationIn({ change }: KeyRecord, endpoint: string): RotationRecord | undefined {
  if (change === undefined) return undefined;
  const read = anyStep.safeParse(change);
  if (read.success && read.data.endpoint === endpoint) return read.data;
  throw changeUnderWay(change);
}

/** Returns the fields of a step that a later one keeps. */
export function begunOf({ kind, endpoint, startedAt, idempotencyKey, keyedAt, updatedAt }: Begun): Begun {
  return { kind, endpoint, startedAt, idempotencyKey, keyedAt, updatedAt };
}

/** The record of the key store. Throws `missing_secret` if it has none. */
export function presentRecord({ record, version }: KeyStoreState): KeyRecord {
  if (version !== undefined) return record;
  throw new WebhookError(
    "missing_secret",
    "The key store has no keys, so no receiver reads it.",
    'Write the endpoint\'s secret where the receivers read it. If the secret is lost, write { "keys": [] }.',
  );
}

/** Throws the error of a run whose rotation another process has moved on or ended. */
export function rejectMoved(stored: KeyStoreState): never {
  const { change } = presentRecord(stored);
  throw change === undefined ? endedElsewhere() : changeUnderWay(change);
}

export function endedElsewhere(): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "change_under_way",
    "The key store no longer has this rotation: another process has finished it, or another program has written the keys.",
    "Rotate again, unless the rotation was finished elsewhere.",
  );
}
