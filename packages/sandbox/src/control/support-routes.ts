import { Hono } from "hono";
import * as z from "zod";
import { dump } from "../support/dump.ts";
import { replay } from "../support/replay.ts";
import { clientField, readBody } from "./input.ts";
import type { Parts } from "./parts.ts";

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();
const choice = { ...clientField, since: time, until: time, webhookEndpointReference: z.string().optional() };
const dumpChoice = z.strictObject(choice);
const replayChoice = z.strictObject({
  ...choice,
  ids: z.array(z.string()).optional(),
  under: z.enum(["same", "new"]).optional(),
});

/** What partners ask support for. */
export function supportRoutes({ service, clientReference }: Parts): Hono {
  const routes = new Hono();

  routes.post("/support/replay", async (c) => {
    const { clientReference: client = clientReference, ...chosen } = await readBody(c.req, replayChoice);
    return c.json({ data: { eventIds: replay(service, client, chosen) } });
  });

  routes.post("/support/dump", async (c) => {
    const { clientReference: client = clientReference, ...chosen } = await readBody(c.req, dumpChoice);
    const lines = dump(service, client, chosen);
    return c.body(ReadableStream.from(lines) as ReadableStream<Uint8Array>, 200, {
      "content-type": "application/x-ndjson",
    });
  });

  return routes;
}
