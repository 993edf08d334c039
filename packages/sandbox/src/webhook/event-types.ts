import type { EsimEvents } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";
import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";

/** An event type as `GET /catalog/webhook-event-types` shows it. */
export const eventTypeSchema = z.object({ eventType: z.string() }).meta({ id: "WebhookEventType" });

/** In the order of the specification. The record makes the list complete: one that misses an event type does not compile. */
const documented: Readonly<Record<keyof EsimEvents, true>> = {
  "esim.assigned": true,
  "esim.downloaded": true,
  "esim.installed": true,
  "esim.enabled": true,
  "esim.disabled": true,
  "esim.deleted": true,
  "esim.faulted": true,
  "esim.mccswitch": true,
  "esim.lifecycle.suspended": true,
  "esim.lifecycle.activated": true,
  "esim.lifecycle.terminated": true,
  "esim.balance.updated": true,
  "package.ended": true,
};

/** These events exist, but the specification does not show what they are called. */
const namedByUs = [
  "package.created",
  "package.activated",
  "package.usage",
  "package.exhausted",
  "package.renewed",
  "port_in.submitted",
  "port_in.approved",
  "port_in.rejected",
  "port_in.completed",
  "port_in.failed",
  "port_in.cancelled",
] as const;

const builtIn: readonly string[] = [...Object.keys(documented), ...namedByUs];

/** Every event type that an endpoint can subscribe to now. */
export function eventTypes(service: Service): string[] {
  const changes = service.db.all<{ eventType: string; retired: number }>(
    "select eventType, retired from eventTypes order by sequence",
  );
  const retired = new Set(changes.filter((change) => change.retired === 1).map(({ eventType }) => eventType));
  const all = new Set([...builtIn, ...changes.map(({ eventType }) => eventType)]);
  return [...all].filter((eventType) => !retired.has(eventType));
}

/** Throws `Refused("invalid")` for a type that was never in the catalog, so no endpoint can have subscribed to it. Retired ones pass. */
export function checkEventType(service: Service, eventType: string): void {
  const changed = service.db.all<{ eventType: string }>("select eventType from eventTypes");
  const known = [...builtIn, ...changed.map((change) => change.eventType)];
  if (known.includes(eventType)) return;
  throw new Refused(
    "invalid",
    `There is no event type "${eventType}". ${suggest(eventType, known)} To add a new one, use POST /event-types or addEventType.`,
  );
}

/**
 * Takes the type out of the catalog. Endpoints that have subscribed to it keep the subscription, and get no more events of it. Throws
 * `not_found` if the catalog does not have it.
 */
export function retireEventType(service: Service, eventType: string): void {
  service.db.transaction(() => {
    if (!eventTypes(service).includes(eventType)) {
      throw new Refused("not_found", `The catalog has no event type "${eventType}". Retire one that it has.`);
    }
    change(service, eventType, 1);
  });
}

/** Adds a type to the catalog, or brings back one that was retired. */
export function addEventType(service: Service, eventType: string): void {
  change(service, eventType, 0);
}

function change(service: Service, eventType: string, retired: 0 | 1): void {
  service.db.run(
    `insert into eventTypes (eventType, retired) values (?, ?)
     on conflict (eventType) do update set retired = excluded.retired`,
    eventType,
    retired,
  );
}
