import type { ApiClient, EndpointWithSecret, WebhookEndpoint } from "@esim-webhooks/client";
import type { EsimEvents } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { hasCode } from "../base/errors.ts";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";
import { checkClient } from "../base/options.ts";
import { waitUntil } from "../base/waiting-clock.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { finished } from "../change/endpoint-keys.ts";
import { readKeys, writeRecord } from "../change/write-record.ts";
import type { ReconcileReport } from "../reconcile/reconcile-report.ts";
import { beginReplacement } from "./begin-replacement.ts";
import { creationIn } from "./creation.ts";
import { ensureEndpoint } from "./ensure-endpoint.ts";
import type { EndpointFinding } from "./finding.ts";
import { bringIn, reconcileFirst } from "./reconcile-first.ts";
import { createRegistrar } from "./registrar.ts";
import {
  type FirstReconciled,
  parseReplaceOptions,
  type ReplaceOptions,
  type ReplaceSettings,
} from "./replace-options.ts";
import { type AtDrop, type Replacement, replacementAfter, replacementIn } from "./replacement.ts";
import { wantedTypes, wishedTypes } from "./wanted.ts";

/** The result of a replacement. */
export interface ReplacedEndpoint<Reconciled extends FirstReconciled = ReconcileReport> {
  /** The endpoint that there is now. */
  readonly endpoint: WebhookEndpoint;
  /** The reference of the endpoint that it replaced; null if there was nothing to do. */
  readonly replaced: string | null;
  /** What `reconcile` resolved to; null if nothing was reconciled by this run. */
  readonly reconciled: Reconciled | null;
  /** What is wrong with the endpoint that there is now. */
  readonly findings: readonly EndpointFinding[];
}

/**
 * Replaces the endpoint of a URL by a second one with other event types, since the API cannot change one. Each step is in the key
 * store before the next, so after a kill at any moment the next call continues. Does nothing if the endpoint is as it is wished.
 *
 * 1. The endpoint is reconciled, which shows that this can be done. 2. A second one is registered, and its key is stored beside the
 * others. 3. The first one is reconciled again, with what is still coming. 4. It is deleted, and its keys get an end. 5. They go, and the
 * second one is reconciled from its registration on, so that later passes need no `since`. Takes `listingLagMs` and `overlapMs`.
 *
 * While there are two endpoints, events come to both, and one event may have two ids: then it is handled twice.
 *
 * Rejects with `endpoint_unknown` (the URL has no endpoint, or several), `endpoint_cap` (nothing was changed), `not_settled` (handlers
 * fail; nothing was deleted), `change_under_way`, and as `ensureEndpoint` and `reconcile` do.
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
  // whatever is wrong with the target is found before anything is changed, and the last pass is short
  const prepare = (endpoint: string) => bringIn(endpoint, settings);
  const second = { url, eventTypes: wishedTypes(wanted, offered), description, prepare };
  const registrar = createRegistrar({ api, keyStore, clock, logger, secretForm, signal });
  let replaced: Replacement | undefined;
  let reconciled: Reconciled | null = null;

  for (;;) {
    const stored = await readKeys(keyStore);
    const { change } = stored.record;
    const creation = creationIn(stored.record, "replace", url);
    const replacement = replacementIn(stored.record, url);
    if (creation !== undefined) {
      const changeAfter = (made: EndpointWithSecret) => replacementAfter(creation, made);
      const made = await registrar.advance(stored.record, creation, changeAfter);
      const reference = made?.webhookEndpointReference;
      if (reference !== undefined) logger.info({ endpoint: reference }, "The second endpoint is there.");
    } else if (replacement?.step === "reconcile") {
      reconciled = (await reconcileFirst(api, replacement, settings)) ?? reconciled;
    } else if (replacement !== undefined) {
      await beginSecond(api, replacement, settings);
      if (await dropKeys(replacement, settings)) replaced = replacement;
    } else if (change !== undefined) {
      throw changeUnderWay(change);
    } else if (
      replaced !== undefined ||
      !(await beginReplacement(api, registrar, stored, second, offered, settings))
    ) {
      // if somebody has deleted the second one, it is registered again
      const label = description ?? replaced?.description;
      const wish = {
        url,
        handlers,
        eventTypes,
        catalog,
        description: label,
        keyStore,
        secretForm,
        signal,
        clock,
      };
      const { endpoint, findings } = await ensureEndpoint<unknown>(api, wish);
      return { endpoint, replaced: replaced?.replaces ?? null, reconciled, findings };
    }
  }
}

/** The first pass of the second endpoint, once the keys of the first one have ended. A worker's pass will do. */
async function beginSecond(
  api: Pick<ApiClient, "webhooks">,
  { endpoint, oldKeysEndAt }: AtDrop,
  { reconcile, clock, signal, logger }: ReplaceSettings<FirstReconciled>,
): Promise<void> {
  await waitUntil(clock, dateTimeMs(oldKeysEndAt), signal);
  const all = await listEndpoints(api, signal);
  const second = endpointIn(all, endpoint);
  if (second === undefined) return; // somebody has deleted it
  const nowMs = clock.now();
  const since = new Date(Math.min(nowMs, dateTimeMs(second.createdAt) || nowMs)); // the service's clock may be ahead
  try {
    await reconcile({ endpoint, includeComing: false, since, signal });
  } catch (error) {
    if (!hasCode(error, "reconcile_in_use")) throw error;
  }
  signal.throwIfAborted();
  logger.info({ endpoint, since }, "The second endpoint is reconciled from its registration on.");
}

/** Removes the keys of the first endpoint, which have ended: attempts that carry them are over. False: another process did it. */
async function dropKeys(at: AtDrop, { keyStore, clock }: ReplaceSettings<FirstReconciled>): Promise<boolean> {
  const written = await writeRecord(keyStore, at, (record) => finished(record, clock.now()), clock);
  return written !== undefined;
}
