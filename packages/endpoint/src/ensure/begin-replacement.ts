import type { ApiClient } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { endpointsOfUrl, shownAddress } from "../base/list-endpoints.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { ownerIn } from "../change/endpoint-keys.ts";
import type { KeyStoreState } from "../change/write-record.ts";
import { listed } from "./compare-types.ts";
import { beginning } from "./creation.ts";
import type { Registrar } from "./registrar.ts";
import { checkCap } from "./take-step.ts";

/** What the second endpoint is to be. */
export interface SecondEndpoint {
  readonly url: string;
  readonly eventTypes: readonly string[];
  /** Undefined: that of the first one. */
  readonly description: string | undefined;
  /** Called with the first endpoint before anything is changed. */
  readonly prepare: (endpoint: string) => Promise<unknown>;
}

/**
 * Writes what is to be done, if it can be. Resolves to false if there is nothing to do: the endpoint is active, and has these
 * event types. Throws `endpoint_unknown` unless the URL has one endpoint, and `endpoint_cap`.
 */
export async function beginReplacement(
  api: Pick<ApiClient, "webhooks">,
  registrar: Registrar,
  stored: KeyStoreState,
  { url, eventTypes, description, prepare }: SecondEndpoint,
  offered: readonly string[],
  { clock, signal }: { readonly clock: WaitingClock; readonly signal: AbortSignal },
): Promise<boolean> {
  const { all, ofUrl } = await endpointsOfUrl(api, url, signal);
  const [first, another] = ofUrl;
  if (first === undefined) {
    throw unclear(`The client has no endpoint of ${shownAddress(url)}.`, "Register one with ensureEndpoint.");
  }
  if (another !== undefined) {
    const references = listed(ofUrl.map(({ webhookEndpointReference }) => webhookEndpointReference));
    throw unclear(
      `The client has several endpoints of ${shownAddress(url)}, ${references}: nobody can know which one to replace.`,
      "Reconcile those that are not needed, then delete them.",
    );
  }
  const got = first.eventTypes.filter((type) => offered.includes(type));
  if (first.active && got.length === eventTypes.length && got.every((type) => eventTypes.includes(type)))
    return false;
  checkCap(all);
  await prepare(first.webhookEndpointReference);
  const label = description ?? first.description;
  const wish = {
    kind: "replace" as const,
    url,
    eventTypes,
    ...(label === null ? {} : { description: label }),
    replaces: first.webhookEndpointReference,
    ownsKeys: ownerIn(stored.record, first.webhookEndpointReference, all.length === 1, clock.now()).isOnly,
  };
  await registrar.begin(stored, beginning(wish, all, clock.now()));
  return true;
}

function unclear(problem: string, remedy: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>("endpoint_unknown", problem, remedy);
}
