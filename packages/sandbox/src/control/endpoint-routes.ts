import { Hono } from "hono";
import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import {
  createEndpoint,
  type EndpointWithSecret,
  type NewEndpoint,
  newEndpointSchema,
} from "../webhook/endpoints.ts";
import { eventTypes } from "../webhook/event-types.ts";
import { chosenClient, deleteAny, setAnyActive } from "./any-client.ts";
import { clientField, endpointChange, pageQuery, readBody, readQuery } from "./input.ts";
import { activeAtUrl, allDeliveries, allEndpoints } from "./lists.ts";
import type { Parts } from "./parts.ts";

const newEndpoint = z.strictObject({
  ...clientField,
  ...newEndpointSchema.shape,
  eventTypes: newEndpointSchema.shape.eventTypes.optional(),
});

/** Endpoints, and the deliveries to them. */
export function endpointRoutes(parts: Parts): Hono {
  const { service } = parts;
  const routes = new Hono();

  routes.get("/endpoints", (c) => c.json(allEndpoints(service, readQuery(c.req, pageQuery))));

  routes.post("/endpoints", async (c) => {
    const { clientReference, ...endpoint } = await readBody(c.req, newEndpoint);
    const client = chosenClient(parts, clientReference);
    const subscribed = endpoint.eventTypes ?? eventTypes(service);
    return c.json({ data: registerEndpoint(service, client, { ...endpoint, eventTypes: subscribed }) }, 201);
  });

  routes.patch("/endpoints/:reference", async (c) => {
    const { active } = await readBody(c.req, endpointChange);
    return c.json({ data: setAnyActive(service, c.req.param("reference"), active) });
  });

  routes.delete("/endpoints/:reference", (c) =>
    c.json({ data: deleteAny(service, c.req.param("reference")) }),
  );

  routes.get("/deliveries", (c) => c.json(allDeliveries(parts, readQuery(c.req, pageQuery))));

  return routes;
}

/**
 * Creates an endpoint, unless an active one has the same URL and one of the event types. The API accepts a URL twice: nothing says that
 * the service refuses this, and a rotation may need it. Here it is a mistake. Throws `Refused`: `url_taken`, `invalid`, `endpoint_cap`.
 */
function registerEndpoint(
  service: Service,
  clientReference: string,
  endpoint: NewEndpoint,
): EndpointWithSecret {
  return service.db.transaction(() => {
    const [taken] = activeAtUrl(service, clientReference, endpoint);
    if (taken === undefined) return createEndpoint(service, clientReference, endpoint);
    throw new Refused(
      "url_taken",
      `The endpoint ${taken} gets events of these types at this URL already, and each would arrive twice. Use that endpoint, ` +
        "delete it, or set it inactive. The API, with POST /management/webhooks, takes a URL twice.",
    );
  });
}
