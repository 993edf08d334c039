import type { WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import * as z from "zod/mini";
import type { Creation } from "./creation.ts";
import { isSameUrl } from "./endpoints-of-url.ts";

/** A replacement whose second endpoint is there. The key store has it before each step. Plain JSON. */
export interface Replacement {
  readonly kind: "replace";
  /** `settle`: reconcile the first endpoint, then delete it. `drop`: it is deleted, and its keys have an end. */
  readonly step: "settle" | "drop";
  readonly url: string;
  /** The first endpoint. */
  readonly replaces: string;
  /** The second one. */
  readonly endpoint: string;
  /** Whether keys of which nobody knows the endpoint are those of the first one: the client had no other. */
  readonly ownsKeys: boolean;
}

const text = z.string();
const shape: z.ZodMiniType<Replacement> = z.object({
  kind: z.literal("replace"),
  step: z.enum(["settle", "drop"]),
  url: text,
  replaces: text,
  endpoint: text,
  ownsKeys: z.boolean(),
});

/** The replacement of the URL's endpoint that is under way, once the second one is there. */
export function replacementIn({ change }: KeyRecord, url: string): Replacement | undefined {
  const { data } = shape.safeParse(change);
  return data !== undefined && isSameUrl(data.url, url) ? data : undefined;
}

/** What follows when the second endpoint is there. */
export function replacementAfter(
  { url, replaces = "", ownsKeys = false }: Creation,
  { webhookEndpointReference: endpoint }: WebhookEndpoint,
): Replacement {
  return { kind: "replace", step: "settle", url, replaces, endpoint, ownsKeys };
}
