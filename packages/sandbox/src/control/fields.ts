import * as z from "zod";
import { timeSchema } from "../base/time.ts";
import { esimOrderSchema } from "../order/order-esim.ts";

/** The schemas that calls of the control side share with methods of the handle. They refuse unknown fields. */

/** Names the client that a call is for. Default: the client that every sandbox has. */
export const clientField = { clientReference: z.string().optional() };

export const esimOrder = z.strictObject({ ...clientField, ...esimOrderSchema.shape });
export const packageEnd = z.strictObject({ reason: z.string().min(1).default("expired") });

export const endpointChange = z.strictObject({ active: z.boolean() });
export const newEvent = z.strictObject({
  ...clientField,
  type: z.string().min(1),
  data: z.looseObject({}).default({}),
  timestamp: timeSchema.exactOptional(),
});
export const newEventType = z.strictObject({ eventType: z.string().min(1) });

const variant = z.strictObject({
  esimVariant: z.string().min(1),
  name: z.string(),
  description: z.string(),
  available: z.int().min(0).exactOptional(),
});
export const newClient = z.strictObject({
  clientReference: z.string().min(1).exactOptional(),
  clientSecret: z.string().min(1).exactOptional(),
  name: z.string().exactOptional(),
  maxProfiles: z.int().min(0).exactOptional(),
  defaultEsimVariant: z.string().nullable().exactOptional(),
  variants: z.array(variant).exactOptional(),
});
export const stock = z.strictObject({ available: z.int().min(0).nullable() });

const choice = {
  ...clientField,
  since: timeSchema.optional(),
  until: timeSchema.optional(),
  webhookEndpointReference: z.string().optional(),
};
export const dumpChoice = z.strictObject(choice);
export const replayChoice = z.strictObject({
  ...choice,
  ids: z.array(z.string()).optional(),
  under: z.enum(["same", "new"]).optional(),
});
