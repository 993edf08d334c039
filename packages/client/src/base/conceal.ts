import { createHash } from "node:crypto";
import { inspect } from "node:util";

/** A text that stands for a secret in logs: `key:` and 8 hex digits. A `whsec_` secret has the one that the receiver logs. */
export function fingerprint(secret: string): string {
  const bytes = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  return `key:${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
}

/**
 * A copy of a record whose secret field can be read and destructured, but is not enumerable: `inspect`, `console.log` and
 * `JSON.stringify` show its fingerprint, and a copy made with `{ ...record }` lacks it.
 */
export function conceal<Shape extends object, Name extends keyof Shape & string>(
  record: Shape,
  name: Name,
): Shape {
  const { [name]: secret, ...open } = record;
  const shown = () => ({ ...open, [name]: fingerprint(String(secret)) });
  return Object.defineProperties(open, {
    [name]: { value: secret },
    toJSON: { value: shown },
    [inspect.custom]: { value: shown },
  }) as Shape;
}
