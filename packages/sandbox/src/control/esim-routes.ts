import { Hono } from "hono";
import * as z from "zod";
import { endPackage } from "../lifecycle/lifecycle.ts";
import { orderEsim } from "../lifecycle/order-esim.ts";
import { esimOperations } from "./esim-operations.ts";
import { esimOrder, packageEnd, pageQuery, readBody, readQuery } from "./input.ts";
import type { Parts } from "./parts.ts";
import { allEsims, showEsim } from "./shown-esim.ts";

/** The routes of eSIMs on devices, on networks and at operators. Each change answers with the eSIM as it is afterwards. */
export function esimRoutes({ service, clientReference }: Parts): Hono {
  const routes = new Hono();

  routes.get("/esims", (c) => c.json(allEsims(service, readQuery(c.req, pageQuery))));

  routes.post("/esims", async (c) => {
    const { clientReference: client = clientReference, ...ordered } = await readBody(c.req, esimOrder);
    const { esimReference } = orderEsim(service, client, ordered);
    return c.json({ data: showEsim(service, esimReference) }, 201);
  });

  routes.get("/esims/:esimReference", (c) =>
    c.json({ data: showEsim(service, c.req.param("esimReference")) }),
  );

  for (const [path, run] of Object.entries(esimOperations))
    routes.post(`/esims/:esimReference/${path}`, async (c) => {
      const { esimReference } = c.req.param();
      run(service, esimReference, await readBody(c.req, z.unknown()), "body");
      return c.json({ data: showEsim(service, esimReference) });
    });

  routes.post("/packages/:packageReference/end", async (c) => {
    const { reason } = await readBody(c.req, packageEnd);
    const { esimReference } = endPackage(service, c.req.param("packageReference"), reason);
    return c.json({ data: showEsim(service, esimReference) });
  });

  return routes;
}
