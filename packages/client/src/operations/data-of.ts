import * as z from "zod/mini";
import { parseWith } from "../base/check-request.ts";

/**
 * A field that is a value or null. An absent field, or one of another type, is null, too: what was done must not be reported as an
 * error because one field of the answer is odd.
 */
export function orNull<Value>(schema: z.ZodMiniType<Value>): z.ZodMiniType<Value | null> {
  return orElse(schema, null);
}

/** A field, or `other` where it is absent or of another type. */
export function orElse<Value, Other>(
  schema: z.ZodMiniType<Value>,
  other: Other,
): z.ZodMiniType<Value | Other> {
  return lenient<Value | Other>((value) => schema.safeParse(value).data ?? other); // z.catch brings zod's messages into a bundle
}

/** A field that may be absent. One of another type is null. */
export function ifThere<Value>(schema: z.ZodMiniType<Value>): z.ZodMiniType<Value | null | undefined> {
  return lenient((value) => (value === undefined ? undefined : (schema.safeParse(value).data ?? null)));
}

function lenient<Value>(read: (value: unknown) => Value): z.ZodMiniType<Value> {
  return z.pipe(z.optional(z.unknown()), z.transform(read)) as unknown as z.ZodMiniType<Value>;
}

/** Reads the `data` of an answer. Throws a `$ZodError`. */
export function dataOf<Data>(schema: z.ZodMiniType<Data>): (json: unknown) => Data {
  const answer: z.ZodMiniType<{ readonly data: Data }> = z.looseObject({ data: schema });
  return (json) => parseWith(answer, json).data;
}
