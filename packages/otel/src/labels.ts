import { esimCatalog, WebhookError } from "@esim-webhooks/core";

/** Returns the label of an event type. */
export type TypeLabel = (type: string | null | undefined) => string;

/** How many types are labels: each has up to 72 series. */
export const mostTypes = 17;

/** Makes a function for labels: each of the first 17 types of the catalog is a label, and any other type, or none, is `other`. */
export function typeLabels({ types }: { readonly types: readonly string[] } = esimCatalog): TypeLabel {
  const known = new Set<unknown>(types.slice(0, mostTypes));
  return (type) => (known.has(type) ? (type as string) : "other");
}

/** Makes a function that returns the first `most` different values that it gets, and `rest` for all others: each label value is a series. */
export function firstValues(most: number, rest: string): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return rest;
    known.add(value);
    return value;
  };
}

const plainName = /^[A-Za-z_$][\w$.]{0,59}$/;
const sqlState = /^[0-9A-Z]{5}$/;

/** Returns the `error.type` of what was thrown. It never throws. */
export type ErrorType = (error: unknown) => string;

/**
 * Makes a function for the `error.type` of a thrown value: its `code`, such as that of a `WebhookError`, a system error or a SQLSTATE, or else the name of
 * the error. Never its message, which may quote personal data. `_OTHER` for a text that is no plain word, and after `most` different ones.
 */
export function errorTypes(most: number): ErrorType {
  const first = firstValues(most, "_OTHER");
  return (error) => {
    const name = nameOf(error);
    return name === undefined ? "_OTHER" : first(name);
  };
}

function nameOf(error: unknown): string | undefined {
  try {
    if (!(error instanceof Error) && !WebhookError.is(error)) return undefined;
    const { code } = error as { readonly code?: unknown };
    if (typeof code === "string" && (plainName.test(code) || sqlState.test(code))) return code;
    const name: unknown = error.name;
    return typeof name === "string" && plainName.test(name) ? name : undefined;
  } catch {
    return undefined; // a getter of the user's error
  }
}

const longestType = 200;

/** The attribute of an event type in spans: none for an empty one. */
export function typeAttribute(type: string | null | undefined): { "esim_webhooks.event.type"?: string } {
  return type ? { "esim_webhooks.event.type": type.slice(0, longestType) } : {};
}
