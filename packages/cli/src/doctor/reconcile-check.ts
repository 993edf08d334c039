import { type StateStore, WebhookError } from "@esim-webhooks/core";
import { readWatermark, type Watermark } from "@esim-webhooks/endpoint";
import { defaultState, isThere } from "../set-up/default-place.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { ago, instant } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** Somebody who reconciles does it daily at least. The service lists events for 7 days. */
const oldestMs = 2 * 24 * 60 * 60_000;

/** How far reconciling has come with an endpoint, by the state of the set-up. Undefined if there is no state. Changes nothing. */
export async function watermarkOf(setUp: SetUp, reference: string): Promise<Watermark | undefined> {
  const state = await existingState(setUp);
  try {
    return state && (await readWatermark(state, reference));
  } catch (error) {
    if (WebhookError.is(error) && (error.code as string) === "migration_missing") return undefined;
    throw error;
  } finally {
    await state?.close?.();
  }
}

/** Fails when somebody has reconciled the endpoint, and not lately. */
export function checkReconciled(watermark: Watermark | undefined): Check {
  if (watermark === undefined)
    return passed("reconcile", "never yet: esim-webhooks reconcile --help says what it brings in");
  const { settledTo } = watermark;
  const now = Date.now();
  if (now - settledTo.getTime() <= oldestMs)
    return passed("reconcile", `the events are settled to ${ago(settledTo, now)}`);
  return failed(
    "reconcile",
    `The events are settled to ${instant(settledTo)} only, and the service lists them for 7 days. Run esim-webhooks reconcile --every 5m, or createReconciler in a worker.`,
  );
}

async function existingState({ config, place }: SetUp): Promise<StateStore | undefined> {
  if (config.state !== undefined) return config.state;
  const isDefault = config.target === undefined && config.store === undefined;
  return isDefault && isThere(place) ? defaultState(place) : undefined;
}
