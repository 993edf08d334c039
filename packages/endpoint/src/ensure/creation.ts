import type { EndpointWithSecret, WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { freshKey, type KeyedCall } from "../base/idempotency-key.ts";
import { isSameUrl } from "./endpoints-of-url.ts";

/**
 * How far the registration of an endpoint is. The key store has it before the call that it speaks of, so that the call can be
 * made again with the same key. Plain JSON.
 */
export interface Creation extends KeyedCall {
  /** `replace`: the endpoint `replaces` goes when this one is there. */
  readonly kind: "ensure" | "replace";
  /** The next call: it registers the endpoint, or rotates the secret of `endpoint`, whose first one nobody has. */
  readonly step: "create" | "rotate";
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description?: string | undefined;
  readonly replaces?: string | undefined;
  /** Whether keys of which nobody knows the endpoint are those of `replaces`. */
  readonly ownsKeys?: boolean | undefined;
  readonly endpoint?: string | undefined;
  /** The client's endpoints before the first call: none of them was made by it. */
  readonly known: readonly string[];
  /** How many answers have not shown the secret. */
  readonly hidden: number;
}

const text = z.string();
const shape = z.object({
  kind: z.enum(["ensure", "replace"]),
  step: z.enum(["create", "rotate"]),
  url: text,
  eventTypes: z.array(text),
  description: z.optional(text),
  replaces: z.optional(text),
  ownsKeys: z.optional(z.boolean()),
  endpoint: z.optional(text),
  known: z.array(text),
  hidden: z.number(),
  idempotencyKey: text,
  keyedAt: text,
});

/** The first step of a creation, for a client that has all these endpoints. */
export function beginning(
  wish: Pick<Creation, "kind" | "url" | "eventTypes" | "description" | "replaces" | "ownsKeys">,
  all: readonly WebhookEndpoint[],
  nowMs: number,
): Creation {
  const known = all.map(({ webhookEndpointReference }) => webhookEndpointReference);
  return { ...wish, step: "create", known, hidden: 0, ...freshKey(nowMs) };
}

/** The creation of this kind for the URL that is under way. */
export function creationIn({ change }: KeyRecord, kind: Creation["kind"], url: string): Creation | undefined {
  const { data } = shape.safeParse(change);
  return data?.kind === kind && isSameUrl(data.url, url) ? data : undefined;
}

/** The step that gets another secret for an endpoint. */
export function rotating(creation: Creation, endpoint: string, nowMs: number): Creation {
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
