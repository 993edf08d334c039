import {
  type ApiClient,
  ApiError,
  type EndpointWithSecret,
  type WebhookEndpoint,
} from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { EndpointErrorCode } from "../base/errors.ts";
import { endpointIn, endpointsOfUrl, listEndpoints } from "../base/list-endpoints.ts";
import { isFailure, isForgotten, isRefusal } from "../change/service-call.ts";
import { type AtRotate, type Creation, rotating } from "./creation.ts";

/** A step that is in the key store. */
export interface Step {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly creation: Creation;
  /** Whether the call may have been made before this run, under the same key. */
  readonly isContinued: boolean;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/**
 * What came of a step: the endpoint with its secret, or the step that is next. Undefined: the creation is over, and nothing was
 * registered that is still there. With an error, it is thrown once that is written.
 */
export type Taken =
  | { readonly made: EndpointWithSecret }
  | { readonly next: Creation | undefined; readonly error?: unknown };

/** After so many answers without the secret, a run gives up. The next one continues. */
const mostHidden = 3;
/** An endpoint that was registered later than this after its key was made is somebody else's. The service forgets keys after this time. */
const madeWithinMs = 48 * 60 * 60_000;

/** Makes the call of a creation. Made again, it does nothing twice. Rejects with an `ApiError` if nobody knows what came of it. */
export async function takeStep(step: Step): Promise<Taken> {
  const { creation } = step;
  return creation.step === "create" ? create(step) : rotate(creation, step);
}

async function create(step: Step): Promise<Taken> {
  const { api, creation, isContinued, nowMs, signal } = step;
  const { url, eventTypes, description, idempotencyKey } = creation;
  if (creation.failed || isForgotten(creation, nowMs)) {
    const made = await findMade(step);
    return { next: made === undefined ? undefined : rotating(creation, made, nowMs) };
  }
  let made: EndpointWithSecret;
  try {
    made = await api.webhooks.create({ url, eventTypes, description }, { idempotencyKey, signal });
  } catch (error) {
    if (isFailure(error)) return { next: { ...creation, failed: true }, error }; // the listing may show it late
    const isHidden = isWithoutSecret(error);
    if (!isHidden && !isRefusal(error)) throw error;
    if (isHidden || isContinued || isRepeated(error)) {
      const lost = await findMade(step); // a refusal says nothing of the attempts before it
      if (lost !== undefined) return { next: hidden(rotating(creation, lost, nowMs)) };
      if (isHidden) throw error;
    }
    const isCap = error instanceof ApiError && error.code === "conflict";
    return { next: undefined, error: isCap ? atTheCap(error) : error };
  }
  return isContinued ? compared(made, step) : { made };
}

/** The endpoint is there, and nobody has its secret: whatever the service answers, the creation goes on unless the endpoint is gone. */
async function rotate(creation: AtRotate, step: Step): Promise<Taken> {
  const { api, isContinued, nowMs, signal } = step;
  const { endpoint, idempotencyKey } = creation;
  let made: EndpointWithSecret;
  try {
    made = await api.webhooks.rotateSecret(endpoint, { idempotencyKey, signal });
  } catch (error) {
    if (error instanceof ApiError && error.code === "not_found") return { next: undefined, error };
    const isHidden = isWithoutSecret(error);
    if (!isHidden && !isRefusal(error) && !isFailure(error)) throw error;
    const again = rotating(creation, endpoint, nowMs);
    if (!isHidden) return { next: again, error };
    const next = hidden(again);
    return next.hidden % mostHidden === 0 ? { next, error } : { next };
  }
  return isContinued ? compared(made, step) : { made };
}

/** What an answer is worth that may be an old one: the endpoint may be deleted since, or have another secret. */
async function compared(made: EndpointWithSecret, { api, creation, nowMs, signal }: Step): Promise<Taken> {
  const { webhookEndpointReference: reference, updatedAt } = made;
  const all = await listEndpoints(api, signal);
  const now = endpointIn(all, reference);
  if (now === undefined) return { next: undefined };
  const isOld = !(dateTimeMs(now.updatedAt) <= dateTimeMs(updatedAt));
  return isOld ? { next: rotating(creation, reference, nowMs) } : { made };
}

function hidden(creation: Creation): Creation {
  return { ...creation, hidden: creation.hidden + 1 };
}

/** The endpoint that the creation has registered, by the listing: its answer was lost. */
async function findMade({ api, creation, signal }: Step): Promise<string | undefined> {
  const { ofUrl } = await endpointsOfUrl(api, creation.url, signal);
  return ofUrl.findLast((endpoint) => isMadeBy(creation, endpoint))?.webhookEndpointReference;
}

function isMadeBy({ known, eventTypes, description, keyedAt }: Creation, endpoint: WebhookEndpoint): boolean {
  return (
    !known.includes(endpoint.webhookEndpointReference) &&
    endpoint.eventTypes.length === eventTypes.length &&
    endpoint.eventTypes.every((type) => eventTypes.includes(type)) &&
    (endpoint.description ?? "") === (description ?? "") &&
    !(dateTimeMs(endpoint.createdAt) > dateTimeMs(keyedAt) + madeWithinMs)
  );
}

/** Whether the service was asked more than once: what came of the attempts before the last one is not known. */
function isRepeated(error: unknown): boolean {
  return error instanceof ApiError && (error.attempts ?? 0) > 1;
}

/** Whether the call was done, but its answer does not show the secret. */
function isWithoutSecret(error: unknown): boolean {
  return error instanceof ApiError && error.code === "secret_not_shown";
}

/** The most endpoints that the API documents for a client. It also speaks of three. */
const mostEndpoints = 5;

/** Throws `endpoint_cap` if the service would surely refuse another endpoint. */
export function checkCap(all: readonly WebhookEndpoint[]): void {
  if (all.length >= mostEndpoints) throw atTheCap();
}

function atTheCap(cause?: unknown): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "endpoint_cap",
    "The client has as many endpoints as the service allows, inactive ones too. Nothing was changed.",
    "Reconcile one that is not needed, then delete it: api.webhooks.list shows them all.",
    { cause },
  );
}
