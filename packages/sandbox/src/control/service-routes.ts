import { Hono } from "hono";
import * as z from "zod";
import { addClient } from "../account/clients.ts";
import { setStock } from "../account/variants.ts";
import type { FaultSettings } from "../faults/fault.ts";
import type { Advance } from "./advance.ts";
import { readBody } from "./input.ts";
import type { Parts } from "./parts.ts";
import { reset } from "./reset.ts";
import { stateOf } from "./state.ts";

const variant = z.strictObject({
  esimVariant: z.string().min(1),
  name: z.string(),
  description: z.string(),
  available: z.int().min(0).exactOptional(),
});
const newClient = z.strictObject({
  name: z.string().exactOptional(),
  maxProfiles: z.int().min(0).exactOptional(),
  defaultEsimVariant: z.string().nullable().exactOptional(),
  variants: z.array(variant).exactOptional(),
});
const stock = z.strictObject({ available: z.int().min(0).nullable() });
const advanced = z.strictObject({ advance: z.union([z.string(), z.number()]) });

/** The service as a whole: its clock, its faults, its clients. */
export function serviceRoutes(parts: Parts, advance: Advance): Hono {
  const { service, faults, changes } = parts;
  const routes = new Hono();

  routes.get("/state", (c) => c.json({ data: stateOf(parts) }));

  routes.post("/clock", async (c) => {
    const { advance: duration } = await readBody(c.req, advanced);
    await advance(duration);
    return c.json({ data: stateOf(parts) });
  });

  routes.get("/faults", (c) => c.json({ data: faults.list() }));

  routes.post("/faults", async (c) => {
    faults.add((await readBody(c.req, z.looseObject({}))) as FaultSettings); // which checks it
    changes.tell("state");
    return c.json({ data: faults.list() }, 201);
  });

  routes.delete("/faults", (c) => {
    faults.clear();
    changes.tell("state");
    return c.json({ data: faults.list() });
  });

  routes.post("/clients", async (c) =>
    c.json({ data: addClient(service, await readBody(c.req, newClient)) }, 201),
  );

  routes.patch("/clients/:reference/variants/:esimVariant", async (c) => {
    const { available } = await readBody(c.req, stock);
    const { reference, esimVariant } = c.req.param();
    setStock(service, reference, esimVariant, available);
    return c.json({ data: { esimVariant, available } });
  });

  routes.post("/reset", (c) => {
    reset(parts);
    return c.json({ data: stateOf(parts) });
  });

  return routes;
}
