import { type StateStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { readWatermark } from "../reconcile/pass-state.ts";

/** Rejects with `no_watermark` if the endpoint was never reconciled with this state store. */
export async function refuseWithoutWatermark(
  state: Pick<StateStore, "read">,
  endpoint: string,
): Promise<void> {
  if ((await readWatermark(state, endpoint)) !== undefined) return;
  throw new WebhookError<EndpointErrorCode>(
    "no_watermark",
    `Nobody has reconciled the endpoint ${JSON.stringify(endpoint)} with this state store, so what the rotation may cost could not be brought in. The secret was not replaced.`,
    "Reconcile it once with since: when your receiver began to store events. Then rotate again.",
  );
}
