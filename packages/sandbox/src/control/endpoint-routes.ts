import { Hono } from "hono";
import * as z from "zod";
import { newEndpointSchema } from "../webhook/endpoints.ts";
import { eventTypes } from "../webhook/event-types.ts";
import { deleteAny, setAnyActive } from "./any-endpoint.ts";
import { chosenClient } from "./chosen-client.ts";
import { clientField, endpointChange } from "./fields.ts";
import { pageQuery, readBody, readQuery } from "./input.ts";
import { allDeliveries, allEndpoints } from "./lists.ts";
import type { Parts } from "./parts.ts";
import { registerEndpoint } from "./register-endpoint.ts";

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
