import { Hono } from "hono";
import { dump } from "../support/dump.ts";
import { replay } from "../support/replay.ts";
import { chosenClient } from "./chosen-client.ts";
import { dumpChoice, replayChoice } from "./fields.ts";
import { readBody } from "./input.ts";
import type { Parts } from "./parts.ts";

/** What partners ask support for. */
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
