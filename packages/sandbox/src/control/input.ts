import { pageOf } from "@esim-webhooks/core/kit";
import type { HonoRequest } from "hono";
import * as z from "zod";
import { problemsOf } from "../base/problems.ts";
import { Refused } from "../base/refused.ts";

/** As in the API. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().optional(),
});

/** Reads a body of JSON, whatever its content type is; an empty one is an object without fields. Throws `Refused("invalid")`. */
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

const maxDepth = 100; // what is nested too deeply to be written as JSON again can be read

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
