import * as z from "zod";
import { deliverySchema, listDeliveries } from "../../webhook/deliveries.ts";
import {
  createEndpoint,
  deleteEndpoint,
  endpointSchema,
  endpointWithSecretSchema,
  listEndpoints,
  newEndpointSchema,
  rotateSecret,
} from "../../webhook/endpoints.ts";
import { paginationSchema } from "../../webhook/pagination.ts";
import type { AddOperation } from "../call/operation.ts";

const params = z.object({ webhookEndpointReference: z.string() });
const page = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().optional().meta({ description: "`nextCursor` of the page before" }),
});

/** Webhook endpoints and their deliveries. What belongs to another client is not found. */
export function addWebhookOperations(add: AddOperation): void {
  add({
    method: "post",
    path: "/management/webhooks",
    summary: "Register a webhook endpoint",
    experimental: true,
    body: newEndpointSchema,
    status: 201,
    answer: z.object({ data: endpointWithSecretSchema }),
    errors: [400, 409],
    problems: [409],
    run: ({ service, clientReference, body }) => ({ data: createEndpoint(service, clientReference, body) }),
  });
  add({
    method: "get",
    path: "/management/webhooks",
    summary: "List the webhook endpoints of the client, newest first",
    experimental: true,
    query: page,
    status: 200,
    answer: z.object({ data: z.array(endpointSchema), pagination: paginationSchema }),
    errors: [400],
    run: ({ service, clientReference, query }) => listEndpoints(service, clientReference, query),
  });
  add({
    method: "post",
    path: "/management/webhooks/{webhookEndpointReference}/rotate-secret",
    summary: "Replace the signing secret of an endpoint; the next attempt is signed with the new one",
    experimental: true,
    params,
    status: 200,
    answer: z.object({ data: endpointWithSecretSchema }),
    errors: [404],
    run: ({ service, clientReference, params }) => ({
      data: rotateSecret(service, clientReference, params.webhookEndpointReference),
    }),
  });
  add({
    method: "delete",
    path: "/management/webhooks/{webhookEndpointReference}",
    summary: "Remove an endpoint, and stop deliveries to it",
    experimental: true,
    params,
    status: 200,
    answer: z.object({ data: endpointSchema }),
    errors: [404],
    run: ({ service, clientReference, params }) => ({
      data: deleteEndpoint(service, clientReference, params.webhookEndpointReference),
    }),
  });
  add({
    method: "get",
    path: "/management/webhooks/{webhookEndpointReference}/deliveries",
    summary: "List the deliveries to an endpoint of the last 7 days, newest first",
    experimental: true,
    params,
    query: page,
    status: 200,
    answer: z.object({ data: z.array(deliverySchema), pagination: paginationSchema }),
    errors: [400, 404],
    run: ({ service, clientReference, params, query }) =>
      listDeliveries(service, clientReference, params.webhookEndpointReference, query),
  });
}
