import type { ApiClient } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";
import { fingerprintOf, keysOfEndpoint, ownerIn } from "../change/endpoint-keys.ts";
import { keysInEnvironment } from "../change/keys-in-environment.ts";
import { readKeys } from "../change/write-record.ts";
import {
  checkRotateArguments,
  parseRotateOptions,
  type RotateOptions,
  refuseWithoutWatermark,
} from "./rotate-options.ts";
import { presentRecord, type RotationRecord, rotationIn } from "./rotation-record.ts";
import { lookUpExisting } from "./rotation-run.ts";

/** The plan of a `rotateSecret`. Plain JSON, without secrets. */
export interface RotationPlan {
  /** The reference of the endpoint. */
  readonly endpoint: string;
  /** Whether the service sends the endpoint anything. */
  readonly active: boolean;
  /** The step of the rotation that would be continued; null: one would begin. */
  readonly continues: RotationRecord["step"] | null;
  /** Whether the service would surely be asked for a new secret. */
  readonly asks: boolean;
  /** The fingerprints of the keys that would be replaced. */
  readonly oldKeys: readonly string[];
  /** The fingerprints of the keys that would stay. */
  readonly otherKeys: readonly string[];
}

/** Options of `planRotation`. */
export type PlanOptions = Pick<RotateOptions, "state" | "signal" | "clock">;

/**
 * Says what `rotateSecret` would do, and rejects as it does, also with `no_watermark`. Writes nothing and asks no receiver: whether the
 * receivers are ready shows when the rotation begins.
 */
export async function planRotation(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  keyStore: KeyStore,
  options: PlanOptions = {},
): Promise<RotationPlan> {
  checkRotateArguments("planRotation", api, endpointReference, keyStore);
  const settings = parseRotateOptions("planRotation", options);
  const { clock, signal, state } = settings;
  const record = presentRecord(await readKeys(keysInEnvironment(api, keyStore)));
  const at = rotationIn(record, endpointReference);
  const { listed, isOnly } = await lookUpExisting(api, endpointReference, signal);
  if (at === undefined) await refuseWithoutWatermark(api, state, endpointReference);
  const all = record.keys.map(fingerprintOf);
  const oldKeys =
    at !== undefined && "oldKeys" in at
      ? at.oldKeys
      : keysOfEndpoint(record.keys, ownerIn(record, endpointReference, isOnly, clock.now())).map(
          fingerprintOf,
        );
  return {
    endpoint: endpointReference,
    active: listed.active,
    continues: at?.step ?? null,
    asks: at === undefined || at.step === "call",
    oldKeys,
    otherKeys: all.filter((key) => !oldKeys.includes(key)),
  };
}
