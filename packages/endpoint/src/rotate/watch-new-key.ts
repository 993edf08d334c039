import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { newest, newestMs, sentAtMs } from "../listing/delivery-times.ts";
import { readDeliveries } from "../listing/read-deliveries.ts";
import type { RotateSettings } from "./rotate-options.ts";
import type { AtStored } from "./rotation-change.ts";

/**
 * What became of deliveries with the new key.
 * - `seen`: a receiver has accepted one
 * - `refused`: receivers answer 401 to them, and accept none
 * - `no_traffic`: none was sent
 */
export type NewKeyUse = "seen" | "refused" | "no_traffic";

const pollMs = 5000;
const refusedStatus = 401;

/** Looks at the newest deliveries until one was accepted that is signed with the new key, or the old keys have ended. */
export async function watchNewKey(
  api: Pick<ApiClient, "webhooks">,
  { endpoint, rotatedAt, oldKeysEndAt }: AtStored,
  { clock, signal, logger }: RotateSettings,
): Promise<NewKeyUse> {
  const endMs = dateTimeMs(oldKeysEndAt);
  let afterMs = rotatedAt === null ? undefined : dateTimeMs(rotatedAt);
  let use: NewKeyUse = "no_traffic";
  for (;;) {
    const deliveries = await newestDeliveries(api, endpoint, signal);
    // without a time of the rotation itself, only what is sent after the first look surely has the new signature
    afterMs ??= newest(deliveries.map(sentAtMs)) || 0;
    const seen = useIn(deliveries, afterMs);
    if (seen === "seen") return seen;
    if (seen === "refused" && use !== "refused") {
      use = seen;
      logger.error(
        { endpoint, code: "new_key_refused" },
        "Receivers answer 401 to deliveries with the new signature. Check that they read this key store, and the form of the secret (secretForm).",
      );
    }
    const leftMs = endMs - clock.now();
    if (leftMs <= 0) return use;
    await clock.wait(Math.min(pollMs, leftMs), signal);
  }
}

/** The newest time that the listing shows, by the service's clock, in ms since the Unix epoch; NaN if it shows none. */
export async function newestListedMs(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<number> {
  return newest((await newestDeliveries(api, endpoint, signal)).map(newestMs));
}

async function newestDeliveries(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<readonly WebhookDelivery[]> {
  for await (const { deliveries } of readDeliveries(api, endpoint, { signal })) return deliveries;
  return [];
}

function useIn(deliveries: readonly WebhookDelivery[], afterMs: number): NewKeyUse {
  const sent = deliveries.filter(({ sentAt }) => dateTimeMs(sentAt) > afterMs);
  if (sent.some(({ deliveredAt }) => deliveredAt !== null)) return "seen";
  return sent.some(({ httpStatus }) => httpStatus === refusedStatus) ? "refused" : "no_traffic";
}
