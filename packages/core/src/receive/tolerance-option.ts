import * as z from "zod/mini";
import { WebhookError } from "../base/errors.ts";
import type { StoreCapabilities } from "../store/dedupe-store.ts";
import {
  defaultToleranceSeconds,
  type Tolerance,
  type ToleranceSeconds,
  toleranceForm,
  toleranceOf,
} from "../verify/tolerance.ts";

/** The schema of the option `toleranceSeconds`. */
export const toleranceOption: z.ZodMiniType<ToleranceSeconds> = z.custom<ToleranceSeconds>(
  (given) => toleranceOf(given) !== undefined,
  toleranceForm,
);

/**
 * Checks that no delivery is accepted for longer than its id is remembered. A captured delivery can be replayed until its
 * timestamp is outside the tolerance, `past` and `future` together; beyond the default, only its done id stops it.
 * Throws `invalid_option`.
 * @param store the store or inbox that remembers done ids; undefined for the default store, which is in memory
 */
export function checkReplayWindow({ past, future }: Tolerance, store: object | undefined): void {
  if (past <= defaultToleranceSeconds && future <= defaultToleranceSeconds) return;
  const capabilities = (store as { readonly capabilities?: StoreCapabilities } | undefined)?.capabilities;
  if (capabilities?.durable !== true) {
    throw new WebhookError(
      "invalid_option",
      `webhook receiver: "toleranceSeconds" is more than ${defaultToleranceSeconds}, and no durable store remembers done ids, so a captured delivery could run again.`,
      `Use a store or inbox whose capabilities are durable (SQLite, Redis, Postgres), or at most ${defaultToleranceSeconds}.`,
    );
  }
  const seconds = past + future;
  if (seconds * 1000 <= capabilities.retentionMs) return;
  throw new WebhookError(
    "invalid_option",
    `webhook receiver: "toleranceSeconds" accepts a delivery for ${seconds} s (past and future together), and the store forgets done ids after ${Math.floor(capabilities.retentionMs / 1000)} s.`,
    "Lower toleranceSeconds, or raise the store's retentionMs.",
  );
}
