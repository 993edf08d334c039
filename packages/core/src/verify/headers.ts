import { WebhookError } from "../base/errors.ts";

/** Headers of Node.js, of fetch, or a plain object. Names may be in any case. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads one header: its value, undefined when it is missing, null when it is repeated. */
export type HeaderReader = (name: string) => string | undefined | null;

/**
 * Makes a reader of headers by their lower-case names.
 * Throws `invalid_input`, naming the type that it got, for anything but a `HeaderSource`.
 */
export function headerReader(headers: HeaderSource): HeaderReader {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    const got = headers === null ? "null" : Array.isArray(headers) ? "an array" : `a ${typeof headers}`;
    throw new WebhookError(
      "invalid_input",
      `Headers must be an object or fetch Headers; got ${got}.`,
      "Pass req.headers (Node.js) or request.headers (fetch).",
    );
  }
  if (typeof headers.get === "function") {
    const get = headers.get.bind(headers) as (name: string) => string | null;
    return (name) => once(get(name) ?? undefined);
  }
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  return (name) => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value !== undefined) return once(value);
    const key = Object.keys(record).find((candidate) => candidate.toLowerCase() === name);
    return key === undefined ? undefined : once(record[key]);
  };
}

// Node.js and fetch both join a repeated header with ", "
function once(value: string | readonly string[] | undefined): string | undefined | null {
  const single: unknown = Array.isArray(value) && value.length <= 1 ? value[0] : value;
  if (single === undefined) return undefined;
  if (Array.isArray(single)) return null;
  if (typeof single === "string") return single.includes(", ") ? null : single;
  throw new WebhookError(
    "invalid_input",
    `A header value must be a string; got a ${typeof single}.`,
    "Pass the headers as they were received.",
  );
}
