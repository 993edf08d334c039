import type { KeyStore } from "@esim-webhooks/core";
import { holdOffUntil } from "../change/service-call.ts";
import { writeStep } from "../change/write-record.ts";
import { checkReceivers, refuseOtherHoldOff } from "./check-receivers.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { writeRotation } from "./write-rotation.ts";

/**
 * Checks the receivers while they hold off unknown signatures; if they are ready, they go on doing so. Rejects with `receivers_not_ready`.
 * No change is under way yet, so the run after a kill checks them, too.
 */
export async function checkHeldOff(
  keyStore: KeyStore,
  url: string,
  settings: Pick<RotateSettings, "clock" | "signal" | "logger">,
): Promise<void> {
  const { clock } = settings;
  await refuseOtherHoldOff(url, keyStore, settings);
  const own = { rotatingUntil: holdOffUntil(clock.now()) };
  let replaced: { readonly rotatingUntil?: string } = {};
  await writeRotation(
    keyStore,
    undefined,
    (record) => {
      const { rotatingUntil } = record;
      // ours is there already when the answer of a write was lost
      if (rotatingUntil !== own.rotatingUntil)
        replaced = rotatingUntil === undefined ? {} : { rotatingUntil };
      return { ...record, ...own };
    },
    clock,
  );
  try {
    await checkReceivers(url, settings);
  } catch (error) {
    await writeStep(
      keyStore,
      undefined,
      (record) => (record.rotatingUntil === own.rotatingUntil ? { keys: record.keys, ...replaced } : record),
      clock,
    ).catch(() => {}); // it ends by itself
    throw error;
  }
}
