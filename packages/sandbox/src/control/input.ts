import type { HonoRequest } from "hono";
import * as z from "zod";
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
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused("invalid", "The body is not JSON. Send a JSON object, or nothing.");
  }
}

/** @param what names the value in messages. Throws `Refused("invalid")` */
export function checked<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  what: string,
): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) =>
    path.length > 0 ? `"${path.join(".")}": ${message}` : message,
  );
  throw new Refused(
    "invalid",
    `The ${what} cannot be right: ${problems.join("; ")}. Correct it; docs/sandbox.md has the fields.`,
  );
}
