import { randomBytes } from "node:crypto";
import { suggest } from "@esim-webhooks/core/internal";
import * as z from "zod";
import { newEndpointReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { eventTypes } from "./event-types.ts";
import { type Page, type PageRequest, pageOf } from "./pagination.ts";

/** A webhook endpoint as the API shows it. */
export const endpointSchema = z
  .object({
    webhookEndpointReference: z.string(),
    url: z.url(),
    eventTypes: z.array(z.string()),
    description: z.string().nullable(),
    active: z.boolean(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "WebhookEndpoint" });

/** An endpoint as the two operations that make a secret show it. */
export const endpointWithSecretSchema = endpointSchema
  .extend({ signingSecret: z.string() })
  .meta({ id: "WebhookEndpointWithSecret" });

export const newEndpointSchema = z
  .object({
    url: z.url({
      protocol: /^https?$/,
      error: "expected a URL that events can be posted to, with https: or http:",
    }),
    eventTypes: z
      .array(z.string())
      .min(1)
      .refine((types) => new Set(types).size === types.length, "expected each event type once")
      .meta({ uniqueItems: true }),
    description: z.string().optional(),
  })
  .meta({ id: "NewWebhookEndpoint" });

export type EndpointRecord = z.output<typeof endpointSchema>;
export type EndpointWithSecret = z.output<typeof endpointWithSecretSchema>;
/** A new endpoint that `newEndpointSchema` has let pass. */
export type NewEndpoint = z.output<typeof newEndpointSchema>;

export interface EndpointRow {
  readonly sequence: number;
  readonly webhookEndpointReference: string;
  readonly url: string;
  readonly eventTypesJson: string;
  readonly description: string | null;
  readonly active: number;
  readonly signingSecret: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Throws `invalid` for an event type that the catalog does not have, and `endpoint_cap` if the client cannot have another endpoint. */
export function createEndpoint(
  service: Service,
  clientReference: string,
  endpoint: NewEndpoint,
): EndpointWithSecret {
  return service.db.transaction(() => {
    checkEventTypes(service, endpoint.eventTypes);
    checkCap(service, clientReference);
    const webhookEndpointReference = newEndpointReference();
    const now = service.clock.now();
    service.db.run(
      `insert into endpoints (webhookEndpointReference, clientReference, url, eventTypesJson, description, active,
         signingSecret, createdAt, updatedAt) values (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
      webhookEndpointReference,
      clientReference,
      endpoint.url,
      JSON.stringify(endpoint.eventTypes),
      endpoint.description ?? null,
      newSigningSecret(service),
      now,
      now,
    );
    return withSecret(rowOf(service, clientReference, webhookEndpointReference));
  });
}

/** The endpoints of a client, newest first. */
export function listEndpoints(
  service: Service,
  clientReference: string,
  page: PageRequest,
): Page<EndpointRecord> {
  return pageOf(
    service,
    "endpoints",
    page,
    (start, limit) =>
      service.db.all<EndpointRow>(
        `select * from endpoints where clientReference = ? and (createdAt, sequence) < (?, ?)
         order by createdAt desc, sequence desc limit ? offset ?`,
        clientReference,
        start.createdAt,
        start.sequence,
        limit,
        start.skip,
      ),
    endpointRecord,
  );
}

/** Replaces the secret: the next attempt of every delivery is signed with the new one. Throws `not_found`. */
export function rotateSecret(
  service: Service,
  clientReference: string,
  webhookEndpointReference: string,
): EndpointWithSecret {
  return service.db.transaction(() => {
    const { sequence } = rowOf(service, clientReference, webhookEndpointReference);
    service.db.run(
      "update endpoints set previousSecret = signingSecret, signingSecret = ?, updatedAt = ? where sequence = ?",
      newSigningSecret(service),
      service.clock.now(),
      sequence,
    );
    return withSecret(rowOf(service, clientReference, webhookEndpointReference));
  });
}

/** Removes the endpoint and its deliveries: no attempt begins any more. Returns the endpoint as it was. Throws `not_found`. */
export function deleteEndpoint(
  service: Service,
  clientReference: string,
  webhookEndpointReference: string,
): EndpointRecord {
  return service.db.transaction(() => {
    const row = rowOf(service, clientReference, webhookEndpointReference);
    service.db.run("delete from endpoints where sequence = ?", row.sequence);
    return endpointRecord(row);
  });
}

/** Sets whether events are delivered to the endpoint. Throws `not_found`. */
export function setActive(
  service: Service,
  clientReference: string,
  webhookEndpointReference: string,
  active: boolean,
): EndpointRecord {
  return service.db.transaction(() => {
    const { sequence } = rowOf(service, clientReference, webhookEndpointReference);
    service.db.run(
      "update endpoints set active = ?, updatedAt = ? where sequence = ?",
      active ? 1 : 0,
      service.clock.now(),
      sequence,
    );
    if (active) service.onDue();
    return endpointRecord(rowOf(service, clientReference, webhookEndpointReference));
  });
}

/** The row's number, by which deliveries name their endpoint. Throws `not_found`. */
export function endpointSequence(
  service: Service,
  clientReference: string,
  webhookEndpointReference: string,
): number {
  return rowOf(service, clientReference, webhookEndpointReference).sequence;
}

function rowOf(service: Service, clientReference: string, webhookEndpointReference: string): EndpointRow {
  const row = service.db.get<EndpointRow>(
    "select * from endpoints where clientReference = ? and webhookEndpointReference = ?",
    clientReference,
    webhookEndpointReference,
  );
  if (row !== undefined) return row;
  throw new Refused(
    "not_found",
    `The client has no webhook endpoint ${webhookEndpointReference}. List the endpoints to see which it has.`,
  );
}

export function endpointRecord(row: EndpointRow): EndpointRecord {
  return {
    webhookEndpointReference: row.webhookEndpointReference,
    url: row.url,
    eventTypes: JSON.parse(row.eventTypesJson) as string[],
    description: row.description,
    active: row.active === 1,
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}

function withSecret(row: EndpointRow): EndpointWithSecret {
  return { ...endpointRecord(row), signingSecret: row.signingSecret };
}

function newSigningSecret({ switches }: Service): string {
  const bytes = randomBytes(32);
  return switches.secretFormat === "whsec32" ? `whsec_${bytes.toString("base64")}` : bytes.toString("hex");
}

function checkEventTypes(service: Service, subscribed: readonly string[]): void {
  const known = eventTypes(service);
  const unknown = subscribed.find((eventType) => !known.includes(eventType));
  if (unknown === undefined) return;
  throw new Refused(
    "invalid",
    `The catalog has no event type "${unknown}", and there is no wildcard. ${suggest(unknown, known)}`,
  );
}

function checkCap(service: Service, clientReference: string): void {
  const cap = Number(service.switches.endpointCap);
  const row = service.db.get<{ count: number }>(
    "select count(*) as count from endpoints where clientReference = ?",
    clientReference,
  );
  if ((row?.count ?? 0) < cap) return;
  throw new Refused(
    "endpoint_cap",
    `The client already has ${cap} webhook endpoints, active or not. Delete one before you create another.`,
  );
}
