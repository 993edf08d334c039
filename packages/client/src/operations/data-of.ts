import * as z from "zod/mini";
import { parseWith } from "../base/parse.ts";

/** A field that is a value or null. An absent one is null, too: an answer must not fail for want of nothing. */
export function orNull<Value>(schema: z.ZodMiniType<Value>): z.ZodMiniType<Value | null> {
  return z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? null),
  ) as unknown as z.ZodMiniType<Value | null>;
}

/** Reads `{ data }`, the form of every answer. */
export function dataOf<Data>(schema: z.ZodMiniType<Data>): (json: unknown) => Data {
  const answer: z.ZodMiniType<{ readonly data: Data }> = z.looseObject({ data: schema });
  return (json) => parseWith(answer, json).data;
}
