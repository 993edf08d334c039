import { Hono } from "hono";
import { dump } from "../webhook/dump.ts";
import { addEventType, eventTypes, retireEventType } from "../webhook/event-types.ts";
import { replay } from "../webhook/replay.ts";
import { chosenClient, emitAny } from "./any-client.ts";
import { dumpChoice, newEvent, newEventType, readBody, replayChoice } from "./input.ts";
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
    changes.report("state");
    return c.json({ data: added }, 201);
  });

  routes.delete("/event-types/:eventType", (c) => {
    const eventType = c.req.param("eventType");
    retireEventType(service, eventType);
    changes.report("state");
    return c.json({ data: { eventType } });
  });

  return routes;
}

/** The routes of support: replays and dumps. */
export function supportRoutes(parts: Parts): Hono {
  const { service } = parts;
  const routes = new Hono();

  routes.post("/support/replay", async (c) => {
    const { clientReference, ...chosen } = await readBody(c.req, replayChoice);
    return c.json({ data: { eventIds: replay(service, chosenClient(parts, clientReference), chosen) } });
  });

  routes.post("/support/dump", async (c) => {
    const { clientReference, ...chosen } = await readBody(c.req, dumpChoice);
    const lines = dump(service, chosenClient(parts, clientReference), chosen);
    return c.body(ReadableStream.from(lines) as ReadableStream<Uint8Array>, 200, {
      "content-type": "application/x-ndjson",
    });
  });

  return routes;
}
