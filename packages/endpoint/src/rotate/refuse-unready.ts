import { type KeyStore, type StateStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { holdOffUntil } from "../base/hold-off.ts";
import { writeStep } from "../base/write-step.ts";
import { readWatermark } from "../reconcile/read-watermark.ts";
import { checkReceivers } from "./check-receivers.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { writeRotation } from "./write-rotation.ts";

type ReadySettings = Pick<RotateSettings, "state" | "checkReceivers" | "clock" | "signal" | "logger">;

/**
 * Rejects with `no_watermark` or `receivers_not_ready` if a rotation must not begin. If it may, and receivers were checked, they go on
 * holding off unknown signatures.
 */
export async function refuseUnready(
  keyStore: KeyStore,
  { endpoint, url }: { readonly endpoint: string; readonly url: string },
  settings: ReadySettings,
): Promise<void> {
  if (settings.state !== undefined) await refuseWithoutWatermark(settings.state, endpoint);
  if (settings.checkReceivers) await checkHeldOff(keyStore, url, settings);
}

/** Ends what `refuseUnready` leaves, when no rotation begins after it. `rotatingUntil`: what the store had before. */
export async function endHoldOff(
  keyStore: KeyStore,
  rotatingUntil: string | undefined,
  { clock }: Pick<ReadySettings, "clock">,
): Promise<void> {
  const had = rotatingUntil === undefined ? {} : { rotatingUntil };
  await writeStep(keyStore, undefined, ({ keys }) => ({ keys, ...had }), clock);
}

async function refuseWithoutWatermark(state: Pick<StateStore, "read">, endpoint: string): Promise<void> {
  if ((await readWatermark(state, endpoint)) !== undefined) return;
  throw new WebhookError<EndpointErrorCode>(
    "no_watermark",
    `Nobody has reconciled the endpoint ${JSON.stringify(endpoint)} with this state store, so what the rotation may cost could not be brought in. The secret was not replaced.`,
    "Reconcile it once with since: when your receiver began to store events. Then rotate again.",
  );
}

/** Checks the receivers while they hold off unknown signatures. No change is under way yet, so the run after a kill checks them, too. */
async function checkHeldOff(keyStore: KeyStore, url: string, settings: ReadySettings): Promise<void> {
  const { clock } = settings;
  const rotatingUntil = holdOffUntil(clock.now());
  await writeRotation(keyStore, undefined, (record) => ({ ...record, rotatingUntil }), clock);
  try {
    await checkReceivers(url, settings);
  } catch (error) {
    await endHoldOff(keyStore, undefined, settings).catch(() => {}); // it ends by itself
    throw error;
  }
}
