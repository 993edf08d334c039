import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import type { EsimEvents } from "@esim-webhooks/core";
import { checkClient } from "../base/options.ts";
import { advance } from "../change/advance.ts";
import { keysInEnvironment } from "../change/keys-in-environment.ts";
import { readKeys } from "../change/write-record.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { type EndpointFinding, wantedTypes, wishedTypes } from "./compare-types.ts";
import { ensureEndpoint } from "./ensure-endpoint.ts";
import { type FirstReconciled, parseReplaceOptions, type ReplaceOptions } from "./replace-options.ts";
import { type ReplaceRun, replacement } from "./replacement-steps.ts";

/** The result of a replacement. */
export interface ReplacedEndpoint<Reconciled extends FirstReconciled = ReconcileReport> {
  /** The endpoint that the URL has now. */
  readonly endpoint: WebhookEndpoint;
  /** The reference of the endpoint that it replaced; null if there was nothing to do. */
  readonly replaced: string | null;
  /** The result of the last pass of the first endpoint; null if this run has not made that pass. */
  readonly reconciled: Reconciled | null;
  /** The endpoint's faults. */
  readonly findings: readonly EndpointFinding[];
}

/**
 * Replaces the endpoint of a URL with a second one that has other event types, since the API cannot change one. Each step is in the key
 * store before the next, so after a kill at any moment the next call continues. Does nothing if the endpoint is active and has the wished event types.
 *
 * 1. The endpoint is reconciled, so that an event that cannot be recovered shows early. 2. A second one is registered, and its key is stored
 * next to the others. 3. The first one is reconciled again. 4. The first one is deleted, and its keys get an end. 5. These keys are removed,
 * and the second one is reconciled from its registration on, so that later passes need no `since`. Takes `listingLagMs`, `overlapMs` and the
 * time of the passes.
 *
 * While there are two endpoints, events come to both, and one event may have two ids: then it is handled twice.
 *
 * Rejects with `endpoint_unknown` (the URL has no endpoint, or several), `endpoint_cap` (nothing was changed), `not_settled` (events
 * would be lost; nothing was deleted), `change_under_way`, and as `ensureEndpoint` and `reconcile` do.
 */
export async function replaceEndpoint<
  Data = EsimEvents,
  Reconciled extends FirstReconciled = ReconcileReport,
>(
  api: Pick<ApiClient, "webhooks" | "catalog">,
  options: ReplaceOptions<Data, Reconciled>,
): Promise<ReplacedEndpoint<Reconciled>> {
  checkClient("replaceEndpoint", api, "webhooks", "catalog");
  const settings = parseReplaceOptions<Reconciled>(options);
  const { url, handlers, eventTypes, catalog, description, keyStore, secretForm, signal, clock, logger } =
    settings;
  const wanted = wantedTypes("replaceEndpoint", settings);
  const offered = (await api.catalog.webhookEventTypes({ signal })).map(({ eventType }) => eventType);
  const run: ReplaceRun = {
    ...settings,
    ...{
      api,
      offered,
      eventTypes: wishedTypes(wanted, offered),
      idempotencyKeysMade: new Set(),
      reconciled: null,
    },
  };
  const store = keysInEnvironment(api, keyStore);
  const { replaced, reconciled } = await advance(store, replacement, run, await readKeys(store));
  // if the second endpoint was deleted meanwhile, it is registered again
  const { endpoint, findings } = await ensureEndpoint<unknown>(api, {
    ...{ url, handlers, eventTypes, catalog, keyStore, secretForm, signal, clock, logger },
    description: description ?? replaced?.description,
  });
  return {
    endpoint,
    replaced: replaced?.replaces ?? null,
    reconciled: reconciled as Reconciled | null, // what the option `reconcile` resolved to
    findings,
  };
}
