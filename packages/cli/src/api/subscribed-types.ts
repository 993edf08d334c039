import type { ApiClient } from "@esim-webhooks/client";
import { suggest } from "@esim-webhooks/core/kit";
import { matchingTypes } from "../flags/types-flag.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";

/**
 * The event types to register, with families replaced by their types: the API has no wildcard. Without any, all types. Throws
 * `invalid_usage` for a family that matches none; another unknown type is for the service to refuse.
 */
export async function subscribedTypes(
  api: ApiClient,
  written: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (written.length > 0 && !written.some(isFamily)) return written;
  const known = (await api.catalog.webhookEventTypes({ signal })).map(({ eventType }) => eventType);
  const types = written.length === 0 ? known : written.flatMap((type) => typesOf(type, known));
  return [...new Set(types)];
}

function typesOf(written: string, known: readonly string[]): readonly string[] {
  if (!isFamily(written)) return [written];
  const types = matchingTypes(written, known);
  if (types.length > 0) return types;
  const families = new Set(known.map((name) => name.replace(/[^.]*$/, "*")));
  throw new ProgramError(
    "invalid_usage",
    `--types ${printable(written)} matches no event type of the service.`,
    `${suggest(written, [...families])} esim-webhooks api event-types lists them.`,
  );
}

function isFamily(type: string): boolean {
  return type.endsWith("*");
}
