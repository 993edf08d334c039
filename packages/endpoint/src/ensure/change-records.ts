import type { EndpointWithSecret, WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { isSameUrl } from "../base/list-endpoints.ts";
import type { KeyOwner } from "../change/endpoint-keys.ts";
import { freshIdempotencyKey, type IdempotentCall } from "../change/service-call.ts";

/** The wished properties of the endpoint. */
interface Wished {
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description?: string | undefined;
}

/** The endpoint is the only one of its URL. */
export interface Alone {
  readonly kind: "ensure";
}

/** The endpoint replaces another one. */
export interface InPlace {
  readonly kind: "replace";
  /** The endpoint that is replaced. */
  readonly replaces: string;
  /** Whether the only key that names no endpoint is that of `replaces`: the client had no other endpoint. */
  readonly ownsKeys: boolean;
}

/** The next call registers the endpoint. */
interface Unregistered {
  readonly step: "create";
}

/** The next call rotates the secret of the endpoint, whose first secret is lost. */
interface WithoutSecret {
  readonly step: "rotate";
  readonly endpoint: string;
}

/** The facts about the calls of a registration so far. */
interface Called extends IdempotentCall {
  /** The client's endpoints before the first call: it registered none of them. */
  readonly known: readonly string[];
  /** How many answers have not shown the secret. */
  readonly hidden: number;
  /** The service has answered the call with a failure, and may answer a repeated call in the same way. Its listing shows whether it registered the endpoint. */
  readonly failed?: true | undefined;
}

/** How far the registration of an endpoint is. It is recorded before its call, so that the call can be repeated with the same idempotency key. */
export type Creation<Kind extends Alone | InPlace = Alone | InPlace> = Wished &
  Called &
  Kind &
  (Unregistered | WithoutSecret);
export type AtCreate<Kind extends Alone | InPlace = Alone | InPlace> = Wished & Called & Kind & Unregistered;
export type AtRotate<Kind extends Alone | InPlace = Alone | InPlace> = Wished & Called & Kind & WithoutSecret;

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
const creationShape: z.ZodMiniType<Creation> = z.union([
  z.strictObject({ ...alone, ...unregistered }),
  z.strictObject({ ...alone, ...withoutSecret }),
  z.strictObject({ ...inPlace, ...unregistered }),
  z.strictObject({ ...inPlace, ...withoutSecret }),
]);

/** Returns the fields that the first step of a creation has besides the wish. `all`: the endpoints of the client. */
export function beginning(all: readonly WebhookEndpoint[], nowMs: number): Called & Unregistered {
  const known = all.map(({ webhookEndpointReference }) => webhookEndpointReference);
  return { step: "create", known, hidden: 0, ...freshIdempotencyKey(nowMs) };
}

function creationIn({ change }: KeyRecord, url: string): Creation | undefined {
  const { data } = creationShape.safeParse(change);
  return data !== undefined && isSameUrl(data.url, url) ? data : undefined;
}

/** The registration of the URL's endpoint that is under way. */
export function registrationIn(record: KeyRecord, url: string): Creation<Alone> | undefined {
  const found = creationIn(record, url);
  return found?.kind === "ensure" ? found : undefined;
}

/**
 * Returns the endpoint that the service has registered, without its secret, which the spread does not copy. A URL or event types
 * that the answer lacks are as requested; a missing `active` is true, and a missing time is `keyedAt`.
 */
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

/** The fields of every step of a replacement, once the second endpoint exists. */
interface SecondIsThere extends InPlace {
  readonly url: string;
  /** The description of the second endpoint. */
  readonly description?: string | undefined;
  /** The second endpoint. */
  readonly endpoint: string;
}

/** The first endpoint has to be reconciled, then deleted. */
export interface AtReconcile extends SecondIsThere {
  readonly step: "reconcile";
}

/** The first endpoint is deleted. */
export interface AtDrop extends SecondIsThere {
  readonly step: "drop";
  /** When the last of its keys ends: a date-time. */
  readonly oldKeysEndAt: string;
}

/** How far a replacement is. */
export type Replacement = Creation<InPlace> | AtReconcile | AtDrop;

const there = {
  kind: z.literal("replace"),
  url: text,
  description: z.optional(text),
  replaces: text,
  endpoint: text,
  ownsKeys: z.boolean(),
};
const secondIsThere: z.ZodMiniType<AtReconcile | AtDrop> = z.discriminatedUnion("step", [
  z.strictObject({ ...there, step: z.literal("reconcile") }),
  z.strictObject({ ...there, step: z.literal("drop"), oldKeysEndAt: text }),
]);

/** The replacement of the URL's endpoint that is under way. */
export function replacementIn(record: KeyRecord, url: string): Replacement | undefined {
  const creation = creationIn(record, url);
  if (creation !== undefined) return creation.kind === "replace" ? creation : undefined;
  const { data } = secondIsThere.safeParse(record.change);
  return data !== undefined && isSameUrl(data.url, url) ? data : undefined;
}

/** The step after the creation of the second endpoint. */
export function replacementAfter(
  { kind, url, description, replaces, ownsKeys }: Creation<InPlace>,
  { webhookEndpointReference: endpoint }: Pick<WebhookEndpoint, "webhookEndpointReference">,
): AtReconcile {
  const label = description === undefined ? {} : { description };
  return { kind, step: "reconcile", url, ...label, replaces, endpoint, ownsKeys };
}

/** Returns the owner of the keys that end with the first endpoint. */
export function ownerOf({ replaces, ownsKeys }: InPlace): KeyOwner {
  return { endpoint: replaces, ownsUnlabelledKey: ownsKeys };
}
