import { pageOf } from "@esim-webhooks/core/internal";
import type { HonoRequest } from "hono";
import * as z from "zod";
import { timeSchema } from "../base/clock.ts";
import { problemsOf, Refused } from "../base/refused.ts";
import { esimOrderSchema } from "../lifecycle/order-esim.ts";

/** The query of a list, as in the API. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().optional(),
});

/** Reads a body of JSON, with any content type; an empty one is an object without fields. Throws `Refused("invalid")`. */
export async function readBody<Schema extends z.ZodType>(
  request: HonoRequest,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await request.text();
  return checked(text.trim() === "" ? {} : parsed(text), schema, "body");
}

/** Reads the parameters after the "?". Throws `Refused("invalid")`. */
export function readQuery<Schema extends z.ZodType>(request: HonoRequest, schema: Schema): z.output<Schema> {
  return checked(request.query(), schema, "query");
}

function parsed(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("invalid", "The body is not JSON. Send a JSON object, or nothing.");
  }
  if (!isDeeper(value, maxDepth)) return value;
  throw new Refused("invalid", `The body is nested deeper than ${maxDepth} levels. Send a flatter one.`);
}

const maxDepth = 100; // deeper JSON could be read, but not written again

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** @param what names the value in messages. Throws `Refused("invalid")` */
export function checked<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  what: string,
): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new Refused(
    "invalid",
    `The ${what} is not valid: ${problemsOf(read.error)}. Correct it; ${pageOf("docs/sandbox.md")} has the fields.`,
  );
}

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
