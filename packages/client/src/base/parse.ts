import { en } from "zod/locales";
import type * as z from "zod/mini";

// zod/mini has no messages of its own
const error = en().localeError;

/** Parses with a schema, with messages that name what was expected. Throws a `$ZodError`. */
export function parseWith<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  return schema.parse(value, { error });
}
