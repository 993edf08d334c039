import { Hono } from "hono";
import { addEventType, eventTypes, retireEventType } from "../webhook/event-types.ts";
import { emitAny } from "./emit-any.ts";
import { newEvent, newEventType } from "./fields.ts";
import { readBody } from "./input.ts";
import type { Parts } from "./parts.ts";

/** Events of any type, and the catalog of their types. */
export function eventRoutes(parts: Parts): Hono {
  const { service, changes } = parts;
  const routes = new Hono();

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
