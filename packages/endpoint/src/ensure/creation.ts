import type { EndpointWithSecret, WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { isSameUrl } from "../base/list-endpoints.ts";
import { freshKey, type KeyedCall } from "../change/service-call.ts";

/** What the endpoint is to be. */
interface Wished {
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description?: string | undefined;
}

/** The endpoint is the only one of its URL. */
interface Alone {
  readonly kind: "ensure";
}

/** Another endpoint goes when this one is there. */
interface InPlace {
  readonly kind: "replace";
  /** The endpoint that goes. */
  readonly replaces: string;
  /** Whether keys of which nobody knows the endpoint are those of `replaces`. */
  readonly ownsKeys: boolean;
}

/** The next call registers the endpoint. */
interface Unregistered {
  readonly step: "create";
}

/** The next call rotates the secret of the endpoint, whose first one nobody has. */
interface WithoutSecret {
  readonly step: "rotate";
  readonly endpoint: string;
}

/** What is known of the calls so far. */
interface Called extends KeyedCall {
  /** The client's endpoints before the first call: none of them was made by it. */
  readonly known: readonly string[];
  /** How many answers have not shown the secret. */
  readonly hidden: number;
  /** The service has answered with a failure, which it may repeat for the key. Whether it registered the endpoint, its listing shows. */
  readonly failed?: true | undefined;
}

/**
 * How far the registration of an endpoint is. The key store has it before the call that it speaks of, so that the call can be
 * made again with the same key. Plain JSON.
 */
export type Creation = Wished & Called & (Alone | InPlace) & (Unregistered | WithoutSecret);
export type CreationInPlace = Creation & InPlace;
export type AtRotate = Creation & WithoutSecret;

const text = z.string();
const shared = {
  ...{ url: text, eventTypes: z.array(text), description: z.optional(text) },
  ...{ known: z.array(text), hidden: z.number(), failed: z.optional(z.literal(true)) },
  ...{ idempotencyKey: text, keyedAt: text },
};
const alone = { ...shared, kind: z.literal("ensure") };
const inPlace = { ...shared, kind: z.literal("replace"), replaces: text, ownsKeys: z.boolean() };
const unregistered = { step: z.literal("create") };
const withoutSecret = { step: z.literal("rotate"), endpoint: text };
const shape: z.ZodMiniType<Creation> = z.union([
  z.strictObject({ ...alone, ...unregistered }),
  z.strictObject({ ...alone, ...withoutSecret }),
  z.strictObject({ ...inPlace, ...unregistered }),
  z.strictObject({ ...inPlace, ...withoutSecret }),
]);

/** The first step of a creation, for a client that has all these endpoints. */
export function beginning(
  wish: Wished & (Alone | InPlace),
  all: readonly WebhookEndpoint[],
  nowMs: number,
): Creation {
  const known = all.map(({ webhookEndpointReference }) => webhookEndpointReference);
  return { ...wish, step: "create", known, hidden: 0, ...freshKey(nowMs) };
}

/** The creation of this kind for the URL that is under way. */
export function creationIn<Kind extends Creation["kind"]>(
  { change }: KeyRecord,
  kind: Kind,
  url: string,
): (Creation & { readonly kind: Kind }) | undefined {
  const { data } = shape.safeParse(change);
  const isIt = (found: Creation): found is Creation & { readonly kind: Kind } =>
    found.kind === kind && isSameUrl(found.url, url);
  return data !== undefined && isIt(data) ? data : undefined;
}

/** The step that gets another secret for an endpoint. */
export function rotating({ failed: _, ...creation }: Creation, endpoint: string, nowMs: number): AtRotate {
  return { ...creation, step: "rotate", endpoint, ...freshKey(nowMs) };
}

/** The endpoint as the service answered, without the secret. What the answer lacks is as it was asked for. */
export function registered(
  made: EndpointWithSecret,
  { url, eventTypes, keyedAt }: Creation,
): WebhookEndpoint {
  return {
    ...made,
    url: made.url ?? url,
    eventTypes: made.eventTypes ?? eventTypes,
    active: made.active ?? true,
    createdAt: made.createdAt ?? keyedAt,
    updatedAt: made.updatedAt ?? keyedAt,
  };
}
