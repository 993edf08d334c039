import { esimCatalog, WebhookError } from "@esim-webhooks/core";

/** Returns the value of a label that could have any number of values: one that is known, or `other`. */
export type TypeLabel = (type: string | null | undefined) => string;

/** Labels of event types: those of the catalog. A delivery that is not authentic, or has none, is `other`. */
export function typeLabels({ types }: { readonly types: readonly string[] } = esimCatalog): TypeLabel {
  const known = new Set<unknown>(types);
  return (type) => (known.has(type) ? (type as string) : "other");
}

const mostErrorTypes = 50;
const plainName = /^[A-Za-z_$][\w$.]{0,59}$/;
const errorTypes = new Set<string>();

/**
 * The `error.type` of what was thrown: the code of a `WebhookError`, the `code` of a system error, or the name of the error. Never its
 * message, which may quote personal data. After 50 different ones, and for a name that is no plain word, `_OTHER`.
 */
export function errorType(error: unknown): string {
  const name = WebhookError.is(error) ? error.code : nameOf(error);
  if (errorTypes.has(name)) return name;
  if (!plainName.test(name) || errorTypes.size >= mostErrorTypes) return "_OTHER";
  errorTypes.add(name);
  return name;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : error.name;
}
