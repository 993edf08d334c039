import type { Open } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { ApiError } from "../base/api-error.ts";
import { checkRequest, requestSchema } from "../base/check-request.ts";
import { conceal } from "../base/conceal.ts";
import type { Caller, CallOptions, ChangeOptions } from "./caller.ts";
import { dataOf, orElse, orNull } from "./data-of.ts";
import { type Listing, type ListOptions, listingOf } from "./listing.ts";
import { path } from "./path.ts";

/**
 * A registered endpoint.
 * @experimental
 */
export interface WebhookEndpoint {
  /** Identifies the endpoint. Opaque. */
  readonly webhookEndpointReference: string;
  /** Where events are posted to. */
  readonly url: string;
  /** The event types that it gets. It may include types that the catalog no longer has. */
  readonly eventTypes: readonly string[];
  /** A label, for people. Null: it has none. */
  readonly description: string | null;
  /** Whether events are delivered. It can be read, not set. */
  readonly active: boolean;
  /** A date-time. */
  readonly createdAt: string;
  /** A date-time. */
  readonly updatedAt: string;
}

/**
 * An endpoint with its signing secret, which the API shows only once. An odd value in another field must not cost the secret: that field is
 * null, as is one that the answer lacks, and `list` shows its value.
 * @experimental
 */
export interface EndpointWithSecret
  extends Pick<WebhookEndpoint, "webhookEndpointReference">,
    OrNull<Omit<WebhookEndpoint, "webhookEndpointReference">> {
  /** The secret. Prints as a fingerprint with the rest of the endpoint, and is not copied by `{ ...endpoint }`. */
  readonly signingSecret: string;
}

type OrNull<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | null };

/**
 * The endpoint to register.
 * @experimental
 */
export interface CreateWebhookRequest {
  /** Where events are posted to. */
  readonly url: string;
  /** The event types that it gets, of `catalog.webhookEventTypes`. There is no wildcard. */
  readonly eventTypes: readonly string[];
  /** A label, for people. */
  readonly description?: string | undefined;
}

/**
 * The delivery of an event to one endpoint, with its latest attempt. Contains personal data.
 * @experimental
 */
export interface WebhookDelivery {
  /** The webhook-id. Null, like the other fields that can be null, if the service sent none, or a value of another type. */
  readonly eventId: string | null;
  /** The type of the event. */
  readonly eventType: string | null;
  /** The body that was sent, as an object. */
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** The body of the endpoint's answer; null when no attempt reached the endpoint. */
  readonly responseBody: string | null;
  /** A `failed` delivery is sent again at `nextRetryAt`, an `exhausted` one is not. */
  readonly status: Open<"pending" | "sending" | "delivered" | "failed" | "exhausted"> | null;
  /** How many attempts were made. */
  readonly attemptNumber: number | null;
  /** The HTTP status of the endpoint's answer; null when no attempt reached the endpoint. */
  readonly httpStatus: number | null;
  /** A date-time. */
  readonly nextRetryAt: string | null;
  /** When the latest attempt was sent: a date-time. */
  readonly sentAt: string | null;
  /** A date-time. */
  readonly deliveredAt: string | null;
}

/** Registers endpoints, and lists what was sent to them. */
export interface Webhooks {
  /**
   * Registers an endpoint. A repeated call may be answered without the secret, which is the error `secret_not_shown`.
   * @experimental
   */
  create(request: CreateWebhookRequest, options?: ChangeOptions): Promise<EndpointWithSecret>;
  /**
   * The client's endpoints.
   * @experimental
   */
  list(options?: ListOptions): Listing<WebhookEndpoint>;
  /**
   * Replaces the secret immediately: the next attempt of every delivery is signed with the new one. Let the receiver answer 503 to
   * unknown keys before, and store the new secret before anything else. Rejects with `secret_not_shown` as `create` does.
   * @experimental
   */
  rotateSecret(webhookEndpointReference: string, options?: ChangeOptions): Promise<EndpointWithSecret>;
  /**
   * Removes an endpoint; its deliveries can no longer be listed. Resolves to the removed endpoint, or to undefined when it is
   * removed and the answer was lost.
   * @experimental
   */
  delete(webhookEndpointReference: string, options?: CallOptions): Promise<WebhookEndpoint | undefined>;
  /**
   * The deliveries of the last 7 days, newest first.
   * @experimental
   */
  deliveries(webhookEndpointReference: string, options?: ListOptions): Listing<WebhookDelivery>;
}

const text = z.string();
const nullableText = orNull(text);

const endpoint: z.ZodMiniType<WebhookEndpoint> = z.looseObject({
  webhookEndpointReference: text,
  url: text,
  eventTypes: z.array(text),
  description: nullableText,
  active: z.boolean(),
  createdAt: text,
  updatedAt: text,
});

type ShownEndpoint = Omit<EndpointWithSecret, "signingSecret"> & {
  readonly signingSecret?: string | null | undefined;
};

function shownEndpoint(webhookEndpointReference: z.ZodMiniType<string>): z.ZodMiniType<ShownEndpoint> {
  return z.looseObject({
    webhookEndpointReference,
    url: nullableText,
    eventTypes: orNull(z.array(text)),
    description: nullableText,
    active: orNull(z.boolean()),
    createdAt: nullableText,
    updatedAt: nullableText,
    signingSecret: z.nullish(text),
  });
}

// one odd record must not make the whole page unreadable
const delivery: z.ZodMiniType<WebhookDelivery> = z.looseObject({
  eventId: nullableText,
  eventType: nullableText,
  payload: orNull(z.record(text, z.unknown())),
  responseBody: nullableText,
  status: nullableText,
  attemptNumber: orNull(z.number()),
  httpStatus: orNull(z.number()),
  nextRetryAt: nullableText,
  sentAt: nullableText,
  deliveredAt: nullableText,
});

const createRequest = requestSchema<CreateWebhookRequest>({
  url: text.check(z.refine((value) => URL.canParse(value), "expected a URL")),
  eventTypes: z.array(text.check(z.minLength(1))),
  description: z.optional(text),
});

export function webhooks(caller: Caller): Webhooks {
  return {
    async create(request, options) {
      const name = "webhooks.create";
      const body = checkRequest(name, createRequest, request);
      return caller.call(
        { name, method: "POST", path: "/management/webhooks", body },
        options,
        readSecret(shownEndpoint(text)),
      );
    },
    list: (options) => listingOf(caller, "webhooks.list", "/management/webhooks", endpoint, options),
    async rotateSecret(reference, options) {
      const name = "webhooks.rotateSecret";
      const at = path`/management/webhooks/${reference}/rotate-secret`;
      const shown = shownEndpoint(orElse(text, reference)); // the reference is known even if the answer lacks it
      return caller.call({ name, method: "POST", path: at }, options, readSecret(shown));
    },
    async delete(reference, options) {
      const at = path`/management/webhooks/${reference}`;
      const read = dataOf(endpoint);
      return caller.call({ name: "webhooks.delete", method: "DELETE", path: at }, options, (json) =>
        json === undefined ? undefined : read(json),
      );
    },
    deliveries: (reference, options) =>
      listingOf(
        caller,
        "webhooks.deliveries",
        path`/management/webhooks/${reference}/deliveries`,
        delivery,
        options,
      ),
  };
}

function readSecret(schema: z.ZodMiniType<ShownEndpoint>): (json: unknown) => EndpointWithSecret {
  const read = dataOf(schema);
  return (json) => {
    const shown = read(json);
    const { signingSecret } = shown;
    if (typeof signingSecret === "string" && signingSecret !== "") {
      return conceal({ ...shown, signingSecret }, "signingSecret");
    }
    throw new ApiError(
      "secret_not_shown",
      "it was done, and the answer does not show the secret.",
      `Rotate it: webhooks.rotateSecret(${JSON.stringify(shown.webhookEndpointReference)}), with a new key.`,
    );
  };
}
