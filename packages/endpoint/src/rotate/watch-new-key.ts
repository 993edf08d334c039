import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { newest, readDeliveries, refusedStatus, sentAtMs } from "../base/deliveries.ts";
import type { RotateSettings } from "./rotate-options.ts";
import type { AtStored } from "./rotation-record.ts";

/**
 * How receivers answered deliveries with the new key, as far as the listing's newest page showed them until the old keys ended: under heavy traffic,
 * there may be more. Both 0: no such delivery was seen.
 */
export interface NewKeyUse {
  /** How many deliveries at least were accepted. */
  readonly accepted: number;
  /** How many at least were answered 401: the receiver reads other keys, or the form of the secret is wrong. */
  readonly refused: number;
}

const pollMs = 5000;

/** Looks at the newest page of deliveries every five seconds until the old keys have ended. */
export async function watchNewKey(
  api: Pick<ApiClient, "webhooks">,
  { endpoint, rotatedAt, oldKeysEndAt }: AtStored,
  { clock, signal, logger }: RotateSettings,
): Promise<NewKeyUse> {
  const endMs = dateTimeMs(oldKeysEndAt);
  let afterMs = rotatedAt === null ? undefined : dateTimeMs(rotatedAt);
  const accepted = new Set<string | null>();
  const refused = new Set<string | null>();
  for (;;) {
    const deliveries = await newestDeliveries(api, endpoint, signal);
    // without a time of the rotation itself, only what is sent after the first look surely has the new signature
    afterMs ??= newest(deliveries.map(sentAtMs)) || 0;
    for (const { eventId, sentAt, deliveredAt, httpStatus } of deliveries) {
      if (!(dateTimeMs(sentAt) > afterMs)) continue;
      if (deliveredAt !== null) accepted.add(eventId);
      else if (httpStatus === refusedStatus) {
        if (refused.size === 0) logger.error({ endpoint, code: "new_key_refused" }, refusal);
        refused.add(eventId);
      }
    }
    const leftMs = endMs - clock.now();
    if (leftMs <= 0) return { accepted: accepted.size, refused: refused.size };
    await clock.wait(Math.min(pollMs, leftMs), signal);
  }
}

const refusal =
  "Receivers answer 401 to deliveries with the new signature. Check that they read this key store, and the form of the secret (secretForm).";

async function newestDeliveries(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<readonly WebhookDelivery[]> {
  for await (const { deliveries } of readDeliveries(api, endpoint, { signal })) return deliveries;
  return [];
}
