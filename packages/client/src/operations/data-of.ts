import * as z from "zod/mini";
import { parseWith } from "../base/parse.ts";

/** Reads `{ data }`, the form of every answer. */
export function dataOf<Data>(schema: z.ZodMiniType<Data>): (json: unknown) => Data {
  const answer: z.ZodMiniType<{ readonly data: Data }> = z.looseObject({ data: schema });
  return (json) => parseWith(answer, json).data;
}
