import type * as z from "zod";

/** What is wrong with a value, field by field: `"url": expected a URL; "eventTypes.0": expected a string`. */
export function problemsOf(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `"${path.join(".")}": ${message}` : message))
    .join("; ");
}
