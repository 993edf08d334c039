import * as z from "zod";
import { clientSchema, findClient } from "../../account/clients.ts";
import { listVariants, variantSchema } from "../../account/variants.ts";
import { eventTypeSchema, eventTypes } from "../../webhook/event-types.ts";
import type { AddOperation } from "../call/operation.ts";

/** The client, and the catalogs that it chooses from. */
export function addAccountOperations(add: AddOperation): void {
  add({
    method: "get",
    path: "/management/client",
    summary: "Show the client that the token belongs to",
    experimental: true,
    status: 200,
    answer: z.object({ data: clientSchema }),
    errors: [],
    run: ({ service, clientReference }) => ({ data: findClient(service, clientReference) }),
  });
  add({
    method: "get",
    path: "/catalog/esim-variants",
    summary: "List the eSIM variants of the client",
    experimental: true,
    status: 200,
    answer: z.object({ data: z.array(variantSchema) }),
    errors: [403],
    run: ({ service, clientReference }) => ({ data: listVariants(service, clientReference) }),
  });
  add({
    method: "get",
    path: "/catalog/webhook-event-types",
    summary: "List the event types that a webhook endpoint can subscribe to",
    experimental: true,
    status: 200,
    answer: z.object({ data: z.array(eventTypeSchema) }),
    errors: [403],
    run: ({ service }) => ({ data: eventTypes(service).map((eventType) => ({ eventType })) }),
  });
}
