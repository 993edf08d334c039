import type { InboxAdmin, InboxFilter, InboxPage } from "@esim-webhooks/core";
import { matchingTypes, warnOfUnknownTypes } from "../flags/types-flag.ts";
import type { Output } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import type { FilterFlags } from "./flags.ts";
import type { InboxAccess } from "./with-inbox.ts";

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

const pageRows = 1000;

/** Lists the events that match a filter, newest first, at most `limit`, page by page. */
export async function* listPages(
  inbox: Pick<InboxAdmin, "list">,
  filter: InboxFilter,
  limit: number = Number.POSITIVE_INFINITY,
  start?: string,
): AsyncGenerator<InboxPage> {
  let cursor: string | null | undefined = start;
  for (let left = limit; left > 0 && cursor !== null; ) {
    const page: InboxPage = await inbox.list(filter, {
      limit: Math.min(pageRows, left),
      ...(cursor !== undefined && { cursor }),
    });
    yield page;
    await new Promise(setImmediate); // an inbox in memory never yields to signals and closed pipes
    left -= page.rows.length;
    cursor = page.nextCursor;
  }
}

const mostNamed = 5;

/**
 * The id that a person means: the one written, or the only one that begins so. Throws `invalid_usage` when several do, and for
 * what must be several ids; another id that nothing begins with stays as it is.
 */
export async function wholeId(
  inbox: Pick<InboxAdmin, "count" | "list">,
  written: string,
  source?: string,
): Promise<string> {
  const from = source === undefined ? {} : { source };
  if (written === "" || (await inbox.count({ ...from, ids: [written] })) > 0) return written;
  const { rows } = await inbox.list({ ...from, idPrefix: written }, { limit: 100 });
  const found = [...new Set(rows.map(({ id }) => id))];
  if (found.length === 0 && written.includes(",")) {
    throw new ProgramError(
      "invalid_usage",
      `No id begins with ${printable(written)}.`,
      "An id may contain a comma: for several ids, write --id before each.",
    );
  }
  if (found.length <= 1) return found[0] ?? written;
  const named = found.slice(0, mostNamed).map(printable).join(", ");
  throw new ProgramError(
    "invalid_usage",
    `Several ids begin with ${printable(written)}: ${named}${found.length > mostNamed ? ", …" : ""}.`,
    "Write more characters of the id that you mean.",
  );
}
