import { Hono } from "hono";
import * as z from "zod";
import { createEndpoint } from "../webhook/endpoints.ts";
import { addEventType, eventTypes, retireEventType } from "../webhook/event-types.ts";
import { deleteAny, setAnyActive } from "./any-endpoint.ts";
import { emitAny } from "./emit-any.ts";
import { clientField, endpointChange, newEvent, newEventType } from "./fields.ts";
import { pageQuery, readBody, readQuery } from "./input.ts";
import { allDeliveries, allEndpoints } from "./lists.ts";
import type { Parts } from "./parts.ts";

const newEndpoint = z.strictObject({
  ...clientField,
  url: z.string(),
  eventTypes: z.array(z.string()).optional(),
  description: z.string().optional(),
});

/** Endpoints, the events that they get, and the deliveries. */
export function endpointRoutes(parts: Parts): Hono {
  const { service, changes, clientReference } = parts;
  const routes = new Hono();

  routes.get("/endpoints", (c) => c.json(allEndpoints(service, readQuery(c.req, pageQuery))));

  routes.post("/endpoints", async (c) => {
    const { clientReference: client = clientReference, ...endpoint } = await readBody(c.req, newEndpoint);
    const subscribed = endpoint.eventTypes ?? eventTypes(service);
    return c.json({ data: createEndpoint(service, client, { ...endpoint, eventTypes: subscribed }) }, 201);
  });

  routes.patch("/endpoints/:reference", async (c) => {
    const { active } = await readBody(c.req, endpointChange);
    return c.json({ data: setAnyActive(service, c.req.param("reference"), active) });
  });

  routes.delete("/endpoints/:reference", (c) =>
    c.json({ data: deleteAny(service, c.req.param("reference")) }),
  );

  routes.get("/deliveries", (c) => c.json(allDeliveries(service, readQuery(c.req, pageQuery))));

  routes.post("/events", async (c) => {
    const event = await readBody(c.req, newEvent);
    return c.json({ data: { eventIds: emitAny(parts, event) } }, 201);
  });

  routes.get("/event-types", (c) =>
    c.json({ data: eventTypes(service).map((eventType) => ({ eventType })) }),
  );

  routes.post("/event-types", async (c) => {
    const added = await readBody(c.req, newEventType);
    addEventType(service, added.eventType);
    changes.tell("state");
    return c.json({ data: added }, 201);
  });

  routes.delete("/event-types/:eventType", (c) => {
    const eventType = c.req.param("eventType");
    retireEventType(service, eventType);
    changes.tell("state");
    return c.json({ data: { eventType } });
  });

  return routes;
}
