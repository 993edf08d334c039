import { createHash } from "node:crypto";

/** What a body says, whatever the order of its keys and its whitespace: SHA-256 of its canonical JSON, hexadecimal. */
export function fingerprintOf(body: string): string {
  return createHash("sha256").update(canonical(body)).digest("hex");
}

/** A body that is no JSON, or empty, stands for itself. */
function canonical(body: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(body)));
  } catch {
    return body;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  // an own property "__proto__" has to stay one
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
