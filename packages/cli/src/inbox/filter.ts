import type { InboxFilter } from "@esim-webhooks/core";

/** Which events a command is about. */
export interface FilterFlags {
  readonly source?: string;
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly id?: readonly string[];
}

/** The events that the flags mean. Families are the catalog's: an inbox knows names alone. */
export function filterOf(
  { source, types, since, until, id }: FilterFlags,
  known: readonly string[],
): Omit<InboxFilter, "state"> {
  return {
    ...(source !== undefined && { source }),
    ...(types && { types: types.flatMap((type) => membersOf(type, known)) }),
    ...(since && { since }),
    ...(until && { until }),
    ...(id && { ids: id }),
  };
}

function membersOf(type: string, known: readonly string[]): readonly string[] {
  if (!type.endsWith("*")) return [type];
  return known.filter((name) => name.startsWith(type.slice(0, -1)));
}
