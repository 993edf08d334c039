import type { InboxFilter } from "@esim-webhooks/core";
import { meantBy, warnOfUnknown } from "../flags/types-flag.ts";
import type { Output } from "../program/output.ts";
import type { AtInbox } from "./with-inbox.ts";

/** Which events a command is about. */
export interface FilterFlags {
  readonly source?: string;
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly id?: readonly string[];
}

/** The events that the flags mean. Warns of types that neither the catalog nor the inbox has. */
export async function filterOf(
  { source, types, since, until, id }: FilterFlags,
  at: AtInbox,
  output: Output,
): Promise<Omit<InboxFilter, "state">> {
  return {
    ...(source !== undefined && { source }),
    ...(types && { types: await typesOf(types, at, output) }),
    ...(since && { since }),
    ...(until && { until }),
    ...(id && { ids: id }),
  };
}

/** An inbox filters by names alone, and has events of types that no catalog knows: a family has those too. */
async function typesOf(
  given: readonly string[],
  { inbox, types }: AtInbox,
  output: Output,
): Promise<readonly string[]> {
  if (given.every((type) => types.includes(type))) return given;
  const stored = (await inbox.stats()).types.flatMap(({ type }) => type ?? []);
  const known = [...new Set([...types, ...stored])];
  warnOfUnknown(given, known, output);
  return given.flatMap((type) => meantBy(type, known));
}
