import type { InboxFilter } from "@esim-webhooks/core";
import { matchingTypes, warnOfUnknownTypes } from "../flags/types-flag.ts";
import type { Output } from "../program/output.ts";
import { wholeId } from "./whole-id.ts";
import type { InboxAccess } from "./with-inbox.ts";

/** The flags that select events. */
export interface FilterFlags {
  readonly source?: string;
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly id?: readonly string[];
  readonly error?: string;
}

/** The inbox's filter for these flags. Warns about types that neither the catalog nor the inbox contains. */
export async function filterOf(
  { source, types, since, until, id, error }: FilterFlags,
  access: InboxAccess,
  output: Output,
): Promise<Omit<InboxFilter, "state">> {
  return {
    ...(source !== undefined && { source }),
    ...(types && { types: await exactTypes(types, access, output) }),
    ...(since && { since }),
    ...(until && { until }),
    ...(error !== undefined && { error }),
    ...(id && { ids: await Promise.all(id.map((each) => wholeId(access.inbox, each, source))) }),
  };
}

/** Replaces each family by its types, those of stored events that the catalog does not contain included. */
async function exactTypes(
  names: readonly string[],
  { inbox, types }: InboxAccess,
  output: Output,
): Promise<readonly string[]> {
  if (names.every((name) => types.includes(name))) return names;
  const stored = (await inbox.stats()).types.flatMap(({ type }) => type ?? []);
  const known = [...new Set([...types, ...stored])];
  warnOfUnknownTypes(names, known, output);
  return names.flatMap((name) => matchingTypes(name, known));
}
