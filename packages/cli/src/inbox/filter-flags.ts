import type { InboxFilter } from "@esim-webhooks/core";
import { parseMoment } from "../moment.ts";

/** Which events a command is about. */
export interface FilterFlags {
  readonly source?: string;
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly id?: readonly string[];
}

const text = (given: string) => given;
const moment = (given: string) => parseMoment(given);

export const filterFlags = {
  source: { kind: "parsed", parse: text, optional: true, placeholder: "name", brief: "Of this source alone" },
  types: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: ",",
    placeholder: "type,…",
    brief: "Of these types, or families such as esim.lifecycle.*",
  },
  since: {
    kind: "parsed",
    parse: moment,
    optional: true,
    placeholder: "when",
    brief: "Received then or later: 2h, 7d, 2026-11-20, 2026-11-20T14:00:00Z",
  },
  until: { kind: "parsed", parse: moment, optional: true, placeholder: "when", brief: "Received before then" },
  id: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: ",",
    placeholder: "id,…",
    brief: "With these ids",
  },
} as const;

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
