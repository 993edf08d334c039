import type { ApiClient } from "@esim-webhooks/client";
import type { DedupeStore, EsimEvents } from "@esim-webhooks/core";
import { checkArguments } from "@esim-webhooks/core/internal";
import { checkClient } from "../base/options.ts";
import { makePass, type PassRequest } from "./pass.ts";
import { parseReconcileOptions, type ReconcileOptions, type ReconcileTarget } from "./reconcile-options.ts";
import type { ReconcileReport } from "./reconcile-report.ts";
import { refuseForgetful } from "./refuse-forgetful.ts";

/**
 * Recovers every event that the deliveries listing of an endpoint shows and the target does not have: those that the service
 * could not deliver, and those that were acknowledged and lost. It skips events that are still coming. It reads the listing
 * from the top, at least down to the watermark, and stores or handles the events oldest first; what the target has is a
 * duplicate, so a pass that is repeated, or was killed, does nothing twice. See docs/reconcile.md.
 *
 * Resolves to a report whose ledger balances, also when `signal` aborted. Rejects with `no_watermark` for a first pass
 * without `since`; with `durable_store_required`; with `reconcile_in_use` while another process reconciles the endpoint; with
 * `invalid_state`; with an `ApiError` of the listing; with `store_unavailable`; and with `source_unknown`, `invalid_option`,
 * `unknown_event_type` or `async_schema` for a mistake in the set-up. After any other error, or an abort, the next call completes the pass.
 */
export async function reconcile<Data = EsimEvents, Tx = unknown>(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  target: ReconcileTarget<Data, Tx>,
  options: ReconcileOptions<Data, Tx>,
): Promise<ReconcileReport> {
  checkReconcileArguments("reconcile", api, endpointReference, target, options);
  const { since, dryRun, acknowledgeGaps, signal, ...settings } = parseReconcileOptions(api, options);
  if (!dryRun) await refuseForgetful(target, settings.store as DedupeStore | undefined, settings.state);
  return makePass({
    api,
    endpoint: endpointReference,
    target: target as PassRequest["target"],
    settings,
    firstPassFrom: since,
    goBackTo: since,
    minDepth: "watermark",
    dryRun,
    acknowledgeGaps,
    signal,
  });
}

/** Throws `invalid_option` for arguments that cannot be right. */
export function checkReconcileArguments(
  caller: string,
  api: unknown,
  endpointReference: unknown,
  target: unknown,
  options: unknown,
): void {
  checkArguments(
    caller,
    {
      client: [api],
      endpoint: [endpointReference],
      target: [target, "an inbox", "a map of handlers"],
      options: [options],
    },
    `Pass a client, the reference of an endpoint, an inbox or handlers, then options: ${caller}(api, reference, inbox, { state, since }).`,
  );
  checkClient(caller, api, "webhooks");
}
