import type { WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { isSameUrl } from "../base/list-endpoints.ts";
import type { KeyOwner } from "../change/endpoint-keys.ts";
import type { CreationInPlace } from "./creation.ts";

/** What every step of a replacement has, once the second endpoint is there. */
interface SecondIsThere {
  readonly kind: "replace";
  readonly url: string;
  /** That of the second endpoint. */
  readonly description?: string | undefined;
  /** The first endpoint. */
  readonly replaces: string;
  /** The second one. */
  readonly endpoint: string;
  /** Whether keys of which nobody knows the endpoint are those of the first one: the client had no other. */
  readonly ownsKeys: boolean;
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

/** How far a replacement is. The key store has it before each step. Plain JSON. */
export type Replacement = AtReconcile | AtDrop;

const text = z.string();
const there = {
  kind: z.literal("replace"),
  url: text,
  description: z.optional(text),
  replaces: text,
  endpoint: text,
  ownsKeys: z.boolean(),
};
const shape: z.ZodMiniType<Replacement> = z.discriminatedUnion("step", [
  z.strictObject({ ...there, step: z.literal("reconcile") }),
  z.strictObject({ ...there, step: z.literal("drop"), oldKeysEndAt: text }),
]);

/** The replacement of the URL's endpoint that is under way, once the second one is there. */
export function replacementIn({ change }: KeyRecord, url: string): Replacement | undefined {
  const { data } = shape.safeParse(change);
  return data !== undefined && isSameUrl(data.url, url) ? data : undefined;
}

/** What follows when the second endpoint is there. */
export function replacementAfter(
  { url, description, replaces, ownsKeys }: CreationInPlace,
  { webhookEndpointReference: endpoint }: Pick<WebhookEndpoint, "webhookEndpointReference">,
): AtReconcile {
  const label = description === undefined ? {} : { description };
  return { kind: "replace", step: "reconcile", url, ...label, replaces, endpoint, ownsKeys };
}

/** Whose keys end with the first endpoint. */
export function ownerOf({ replaces, ownsKeys }: Replacement): KeyOwner {
  return { endpoint: replaces, isOnly: ownsKeys };
}
