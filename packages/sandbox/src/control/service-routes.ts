import { Hono } from "hono";
import * as z from "zod";
import { addClient } from "../account/clients.ts";
import { setStock } from "../account/variants.ts";
import type { FaultSettings } from "../base/fault.ts";
import { addFault } from "./add-fault.ts";
import type { Advance } from "./advance.ts";
import { newClient, readBody, stock } from "./input.ts";
import type { Parts } from "./parts.ts";
import { reset, stateOf } from "./state.ts";

const advanced = z.strictObject({
  advance: z.union([z.string(), z.number()], 'expected a duration such as "8h", or a number of ms'),
});

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
    addFault(parts, (await readBody(c.req, z.looseObject({}))) as FaultSettings); // addFault checks it
    return c.json({ data: faults.list() }, 201);
  });

  routes.delete("/faults", (c) => {
    faults.clear();
    changes.report("state");
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
