import { Hono } from "hono";
import * as z from "zod";
import { updateBalance } from "../esim/balance.ts";
import { deleteEsim, disableEsim, downloadEsim, enableEsim, faultEsim, installEsim } from "../esim/device.ts";
import { registerOnNetwork } from "../esim/network.ts";
import { changeLifecycle } from "../lifecycle/change-lifecycle.ts";
import { orderPackage } from "../lifecycle/order-package.ts";
import { endPackage } from "../lifecycle/package.ts";
import { esimOrderSchema, orderEsim } from "../order/order-esim.ts";
import { createPortIn } from "../port-in/create-port-in.ts";
import { newPortInSchema } from "../port-in/new-port-in.ts";
import { clientField, pageQuery, readBody, readQuery } from "./input.ts";
import type { Parts } from "./parts.ts";
import { portInSteps, takePortInStep } from "./port-in-step.ts";
import { allEsims, showEsim } from "./shown-esim.ts";

const order = z.strictObject({ ...clientField, ...esimOrderSchema.shape });
const nothing = z.strictObject({});
const fault = z.strictObject({ reason: z.string().min(1), detail: z.unknown().optional() });
const network = z.union(
  [
    z.strictObject({ country: z.string() }).transform(({ country }) => country),
    z.strictObject({ mcc: z.string(), mnc: z.string() }).transform(({ mcc, mnc }) => `${mcc}-${mnc}`),
  ],
  'expected { "country": "NL" } or { "mcc": "204", "mnc": "08" }',
);
const balance = z.strictObject({
  updateType: z.enum(["credit", "debit"]),
  amount: z.number(),
  source: z.enum(["client", "provider"]).exactOptional(),
  reason: z.string().exactOptional(),
  detail: z.string().exactOptional(),
  clientTransactionId: z.string().exactOptional(),
  providerTransactionId: z.string().exactOptional(),
});
const lifecycle = z.strictObject({ operation: z.enum(["suspend", "reactivate", "terminate"]) });
const plan = z.strictObject({ planReference: z.string().min(1).optional() });
const end = z.strictObject({ reason: z.string().min(1).default("expired") });
const step = z.strictObject({
  code: z.string().min(1).optional(),
  message: z.string().optional(),
  date: z.string().optional(),
});

/** What becomes of eSIMs: on devices, on networks, at operators. Each call answers with the eSIM as it is afterwards. */
export function esimRoutes({ service, clientReference }: Parts): Hono {
  const routes = new Hono();

  routes.get("/esims", (c) => c.json(allEsims(service, readQuery(c.req, pageQuery))));

  routes.post("/esims", async (c) => {
    const { clientReference: client = clientReference, ...ordered } = await readBody(c.req, order);
    const { esimReference } = orderEsim(service, client, ordered);
    return c.json({ data: showEsim(service, esimReference) }, 201);
  });

  /** `POST /esims/{esimReference}/…`: does the operation with the body. */
  function onEsim<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    operation: (esimReference: string, body: z.output<Schema>) => void,
  ): void {
    routes.post(`/esims/:esimReference/${path}`, async (c) => {
      const { esimReference } = c.req.param();
      operation(esimReference, await readBody(c.req, schema));
      return c.json({ data: showEsim(service, esimReference) });
    });
  }

  routes.get("/esims/:esimReference", (c) =>
    c.json({ data: showEsim(service, c.req.param("esimReference")) }),
  );

  onEsim("downloaded", z.strictObject({ eid: z.string().min(1).optional() }), (esim, { eid }) => {
    downloadEsim(service, esim, eid);
  });
  onEsim("installed", nothing, (esim) => installEsim(service, esim));
  onEsim("enabled", nothing, (esim) => enableEsim(service, esim));
  onEsim("disabled", nothing, (esim) => disableEsim(service, esim));
  onEsim("deleted", nothing, (esim) => deleteEsim(service, esim));
  onEsim("fault", fault, (esim, body) => faultEsim(service, esim, body));
  onEsim("network", network, (esim, where) => registerOnNetwork(service, esim, where));
  onEsim("lifecycle", lifecycle, (esim, { operation }) => changeLifecycle(service, esim, operation));
  onEsim("packages", plan, (esim, { planReference }) => orderPackage(service, esim, planReference));
  onEsim("balance", balance, (esim, body) => updateBalance(service, esim, body));
  onEsim("port-in", newPortInSchema, (esim, body) => createPortIn(service, esim, body));
  for (const name of portInSteps)
    onEsim(`port-in/${name}`, step, (esim, body) => takePortInStep(service, esim, name, body));

  routes.post("/packages/:packageReference/end", async (c) => {
    const { reason } = await readBody(c.req, end);
    const { esimReference } = endPackage(service, c.req.param("packageReference"), reason);
    return c.json({ data: showEsim(service, esimReference) });
  });

  return routes;
}
