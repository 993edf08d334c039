import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { changeUnderWay } from "../change/change-under-way.ts";
import type { KeyedCall } from "../change/service-call.ts";

/** What every step of a rotation has: the key of its latest call, too. Times are date-times. */
export interface Begun extends KeyedCall {
  readonly kind: "rotate";
  readonly endpoint: string;
  /** When the rotation began, by our clock. */
  readonly startedAt: string;
  /** The endpoint's `updatedAt` before the call. */
  readonly updatedAt: string;
}

/** The secret may be replaced at the service, and nobody here knows the new one. */
export interface AtCall extends Begun {
  readonly step: "call";
}

interface Answered extends Begun {
  /** When the service replaced the secret, by its clock; null if its answer did not show that. */
  readonly rotatedAt: string | null;
}

/** The new secret is here, but not in a form that can be read. */
export interface AtForm extends Answered {
  readonly step: "form";
  readonly secret: string;
}

/** The receivers have the new key. The old ones end, what was missed is brought in, and the old ones go. */
export interface AtStored extends Answered {
  readonly step: "stored";
  /** The fingerprints of the new key, and of those that it replaces. */
  readonly newKey: string;
  readonly oldKeys: string[];
  /** When the last of the old keys ends. */
  readonly oldKeysEndAt: string;
}

/** How far a rotation is. In the key store, so that the next process can continue it. */
export type RotationChange = AtCall | AtForm | AtStored;

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

const anyStep: z.ZodMiniType<RotationChange> = z.discriminatedUnion("step", [
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
export function rotationIn({ change }: KeyRecord, endpoint: string): RotationChange | undefined {
  if (change === undefined) return undefined;
  const read = anyStep.safeParse(change);
  if (read.success && read.data.endpoint === endpoint) return read.data;
  throw changeUnderWay(change);
}

/** What a later step keeps of an earlier one. */
export function begunOf({ kind, endpoint, startedAt, idempotencyKey, keyedAt, updatedAt }: Begun): Begun {
  return { kind, endpoint, startedAt, idempotencyKey, keyedAt, updatedAt };
}
