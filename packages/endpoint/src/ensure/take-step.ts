import {
  type ApiClient,
  ApiError,
  type EndpointWithSecret,
  type WebhookEndpoint,
} from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { freshKey, isForgotten } from "../base/idempotency-key.ts";
import { type Creation, rotating } from "./creation.ts";
import { endpointsOfUrl } from "./endpoints-of-url.ts";

/** What came of a step: the endpoint with its secret, or the step that is next. */
export type Taken = { readonly made: EndpointWithSecret } | { readonly next: Creation };

/**
 * Makes the call of a creation, which must be in the key store. Made again, it does nothing twice. Rejects with an `ApiError`, or
 * with `endpoint_cap` if the client may have no more endpoints.
 */
export async function takeStep(
  api: Pick<ApiClient, "webhooks">,
  creation: Creation,
  nowMs: number,
  signal: AbortSignal | undefined,
): Promise<Taken> {
  return creation.step === "create"
    ? create(api, creation, nowMs, signal)
    : rotate(api, creation, nowMs, signal);
}

async function create(
  api: Pick<ApiClient, "webhooks">,
  creation: Creation,
  nowMs: number,
  signal: AbortSignal | undefined,
): Promise<Taken> {
  const { url, eventTypes, description, idempotencyKey } = creation;
  if (isForgotten(creation, nowMs)) {
    const made = await findMade(api, creation, signal);
    return {
      next: made === undefined ? { ...creation, ...freshKey(nowMs) } : rotating(creation, made, nowMs),
    };
  }
  try {
    const options = { idempotencyKey, signal };
    return { made: await api.webhooks.create({ url, eventTypes, description }, options) };
  } catch (error) {
    if (isWithoutSecret(error)) {
      const made = await findMade(api, creation, signal);
      if (made !== undefined) return { next: rotating(creation, made, nowMs) };
    }
    throw error instanceof ApiError && error.code === "conflict" ? atTheCap(error) : error;
  }
}

async function rotate(
  api: Pick<ApiClient, "webhooks">,
  creation: Creation,
  nowMs: number,
  signal: AbortSignal | undefined,
): Promise<Taken> {
  const { endpoint = "", idempotencyKey } = creation;
  try {
    return { made: await api.webhooks.rotateSecret(endpoint, { idempotencyKey, signal }) };
  } catch (error) {
    if (isWithoutSecret(error)) return { next: rotating(creation, endpoint, nowMs) };
    throw error;
  }
}

/** The endpoint that the creation has registered, by the listing: its answer was lost. */
async function findMade(
  api: Pick<ApiClient, "webhooks">,
  { url, replaces }: Creation,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { ofUrl } = await endpointsOfUrl(api, url, signal);
  return ofUrl.findLast(({ webhookEndpointReference }) => webhookEndpointReference !== replaces)
    ?.webhookEndpointReference;
}

/** Whether the call was done, but its answer does not show the secret. */
function isWithoutSecret(error: unknown): boolean {
  return error instanceof ApiError && error.code === "unexpected_answer";
}

const refusals: ReadonlySet<string> = new Set([
  "bad_request",
  "conflict",
  "endpoint_cap",
  "forbidden",
  "invalid_request",
  "key_reused",
  "not_found",
]);

/** Whether the service has refused the call for good: it was not done, and its key will never get another answer. */
export function isRefusal(error: unknown): boolean {
  return WebhookError.is(error) && refusals.has(error.code);
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
    "Reconcile one that is not needed, then delete it: esim-webhooks api endpoints list shows them all.",
    { cause },
  );
}
