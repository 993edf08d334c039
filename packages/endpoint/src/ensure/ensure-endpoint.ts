import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import type { EsimEvents, KeyRecord } from "@esim-webhooks/core";
import { parseOptions } from "@esim-webhooks/core/kit";
import { changeUnderWay } from "../base/change-under-way.ts";
import { freshKey } from "../base/idempotency-key.ts";
import { wallClock as clock } from "../base/waiting-clock.ts";
import { readKeys } from "../base/write-step.ts";
import { advance, begun } from "./advance.ts";
import { type Creation, creationIn } from "./creation.ts";
import { endpointsOfUrl } from "./endpoints-of-url.ts";
import type { EndpointFinding } from "./finding.ts";
import { findingsOf } from "./findings-of.ts";
import { type EndpointWish, type SettledWish, wishShape } from "./options.ts";
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
  const settings: SettledWish = parseOptions("ensureEndpoint", wishShape, wish);
  const { url, description, keyStore, secretForm, signal } = settings;
  const wanted = wantedTypes("ensureEndpoint", settings);
  const offered = (await api.catalog.webhookEventTypes({ signal })).map(({ eventType }) => eventType);

  for (;;) {
    const { record, version } = await readKeys(keyStore);
    const { change } = record;
    const creation = creationIn(record, "ensure", url);
    if (creation !== undefined) {
      const parts = { api, keyStore, clock, secretForm, signal, changeAfter: () => undefined };
      const made = await advance(record, creation, parts);
      if (made === undefined) continue;
      const endpoint = { ...made }; // without the secret
      const known = { endpoint, ofUrl: [endpoint], hasSecret: true, change: undefined, wanted, offered };
      return { endpoint, created: true, findings: findingsOf(known) };
    }
    const { all, ofUrl } = await endpointsOfUrl(api, url, signal);
    const [endpoint] = ofUrl;
    if (endpoint !== undefined) {
      const known = { endpoint, ofUrl, hasSecret: hasKeyOf(record, endpoint), change, wanted, offered };
      return { endpoint, created: false, findings: findingsOf(known) };
    }
    if (change !== undefined) throw changeUnderWay(change);
    checkCap(all);
    const eventTypes = wishedTypes(wanted, offered);
    const wishes = { url, eventTypes, ...(description !== undefined && { description }) };
    const begin: Creation = { kind: "ensure", step: "create", ...wishes, ...freshKey(clock.now()) };
    await keyStore.write(begun(record, begin, clock.now()), version); // by version: what was listed may be done by now
  }
}

function hasKeyOf({ keys }: KeyRecord, { webhookEndpointReference }: WebhookEndpoint): boolean {
  return keys.some(
    (key) =>
      typeof key === "string" || (key.endpoint ?? webhookEndpointReference) === webhookEndpointReference,
  );
}
