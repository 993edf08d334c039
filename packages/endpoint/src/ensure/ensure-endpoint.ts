import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import type { EsimEvents } from "@esim-webhooks/core";
import { parseOptions, safeLogger } from "@esim-webhooks/core/kit";
import { endpointsOfUrl, isSameUrl } from "../base/list-endpoints.ts";
import { checkClient } from "../base/options.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { ownerIn, ownKeys } from "../change/endpoint-keys.ts";
import { readKeys } from "../change/write-record.ts";
import { beginning, creationIn, registered } from "./creation.ts";
import type { EndpointFinding } from "./finding.ts";
import { findingsOf } from "./findings-of.ts";
import { type EndpointWish, type WishSettings, wishShape } from "./options.ts";
import { createRegistrar } from "./registrar.ts";
import { checkCap } from "./take-step.ts";
import { wantedTypes, wishedTypes } from "./wanted.ts";

/** What `ensureEndpoint` found, or made. */
export interface EnsuredEndpoint {
  readonly endpoint: WebhookEndpoint;
  /** Whether it was registered by this call, or by one before it that was interrupted. Its secret is in the key store. */
  readonly created: boolean;
  /** What is wrong with it. */
  readonly findings: readonly EndpointFinding[];
}

/**
 * Finds the client's endpoint for a URL, or registers it and stores its secret. Says what is wrong with one that exists, and
 * changes nothing on it: the API cannot change an endpoint.
 *
 * The key store has each step before the call that it is about. After a kill at any moment, calling it again finishes, and no
 * second endpoint is registered, nor by several processes that call it at once with one key store.
 *
 * Rejects with `invalid_option`, `unknown_event_type` (one of `eventTypes` is none of the service's), `endpoint_cap`,
 * `change_under_way` (a rotation or replacement must be finished before an endpoint can be registered), `invalid_secret` (the
 * secret is of another form: give `secretForm` and call again), an `ApiError` (call again: it continues), or as the key store does.
 */
export async function ensureEndpoint<Data = EsimEvents>(
  api: Pick<ApiClient, "webhooks" | "catalog">,
  wish: EndpointWish<Data>,
): Promise<EnsuredEndpoint> {
  checkClient("ensureEndpoint", api, "webhooks", "catalog");
  const settings: WishSettings = parseOptions("ensureEndpoint", wishShape, wish);
  const { url, description, keyStore, secretForm, signal, clock, logger } = settings;
  const wanted = wantedTypes("ensureEndpoint", settings);
  const offered = (await api.catalog.webhookEventTypes({ signal })).map(({ eventType }) => eventType);

  const registrar = createRegistrar({ api, keyStore, clock, logger: safeLogger(logger), secretForm, signal });
  let created: WebhookEndpoint | undefined;

  for (;;) {
    const stored = await readKeys(keyStore);
    const { record } = stored;
    const { change } = record;
    const creation = creationIn(record, "ensure", url);
    if (creation !== undefined) {
      const made = await registrar.advance(record, creation, () => undefined);
      if (made !== undefined) created = registered(made, creation);
      continue;
    }
    const { all, ofUrl } = await endpointsOfUrl(api, url, signal);
    const isIt = ({ webhookEndpointReference }: WebhookEndpoint) =>
      created === undefined || webhookEndpointReference === created.webhookEndpointReference;
    const endpoint = ofUrl.find(isIt) ?? created;
    if (endpoint !== undefined) {
      const owner = ownerIn(record, endpoint.webhookEndpointReference, all.length <= 1, clock.now());
      const hasSecret = ownKeys(record.keys, owner).length > 0;
      const others = created === undefined ? [] : all.filter((each) => !isSameUrl(each.url, url));
      const known = { endpoint, ofUrl, others, hasSecret, change, wanted, offered };
      return { endpoint, created: created !== undefined, findings: findingsOf(known) };
    }
    if (change !== undefined) throw changeUnderWay(change);
    checkCap(all);
    const eventTypes = wishedTypes(wanted, offered);
    const wishes = { url, eventTypes, ...(description !== undefined && { description }) };
    await registrar.begin(stored, beginning({ kind: "ensure", ...wishes }, all, clock.now()));
  }
}
