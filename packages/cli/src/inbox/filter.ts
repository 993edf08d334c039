import type { InboxAdmin, InboxFilter, InboxPage } from "@esim-webhooks/core";
import { instant } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { matchingTypes, warnOfUnknownTypes } from "../flags/types-flag.ts";
import type { Output } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { sentenceStart } from "../terminal/text.ts";
import type { FilterFlags, InboxFlags } from "./flags.ts";
import type { InboxAccess } from "./with-inbox.ts";

/**
 * The inbox's filter for these flags. Warns about types that neither the catalog nor the inbox contains. Throws `invalid_usage` for --esim
 * if the inbox cannot find the events of an eSIM, and as `wholeId` does.
 */
export async function filterOf(
  { source, types, since, until, id, error, esim }: FilterFlags,
  access: InboxAccess,
  output: Output,
): Promise<Omit<InboxFilter, "state">> {
  if (esim !== undefined) checkFindsEsims(access);
  return {
    ...(source !== undefined && { source }),
    ...(types && { types: await exactTypes(types, access, output) }),
    ...(since && { since }),
    ...(until && { until }),
    ...(error !== undefined && { error }),
    ...(esim !== undefined && { subject: esim }),
    ...(id && { ids: await Promise.all(id.map((each) => wholeId(access.inbox, each, source))) }),
  };
}

function checkFindsEsims({ inbox, where }: InboxAccess): void {
  if (inbox.capabilities.filters === undefined) return;
  throw invalidUsage(
    `${sentenceStart(where)} cannot find events by their eSIM, so it does not take --esim.`,
    "Name the events with --id, or use an inbox on SQLite or Postgres.",
  );
}

/** Replaces each family by its types in the catalog and the inbox. Leaves out a name that matches none of these, with a warning. */
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

/**
 * Lists the events that match a filter, newest first, at most `limit`, page by page. A page may have fewer rows than another one, or
 * none: the inbox searches a limited number of events for each page.
 */
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

const progressEveryMs = 1000;

/** Returns a function that notes how far a search has come, for each page that found nothing, once a second at most. */
export function searchProgress(note: (searchedTo: Date) => void): (page: InboxPage) => void {
  let notedAt = Number.NEGATIVE_INFINITY;
  return ({ rows, searchedTo }) => {
    if (rows.length > 0 || searchedTo === null || performance.now() - notedAt < progressEveryMs) return;
    notedAt = performance.now();
    note(searchedTo);
  };
}

/** Returns a function that prints how far a search has come, on standard error. */
export function searchNote(output: Output, { json }: Pick<InboxFlags, "json">): (searchedTo: Date) => void {
  return (searchedTo) =>
    json
      ? output.log(JSON.stringify({ searchedTo }))
      : output.note(`Searched back to ${instant(searchedTo)} …`);
}

const mostNamed = 5;

/**
 * The id that a person means: the written one, if it exists, or the only one that begins so. Throws `invalid_usage` if several begin
 * so, or if none does and the text has a comma. Any other text stays as it is.
 */
export async function wholeId(
  inbox: Pick<InboxAdmin, "count" | "list">,
  written: string,
  source?: string,
): Promise<string> {
  const from = source === undefined ? {} : { source };
  if (written === "" || (await inbox.count({ ...from, ids: [written] })) > 0) return written;
  const found: string[] = [];
  for await (const { rows } of listPages(inbox, { ...from, idPrefix: written }, 100))
    for (const { id } of rows) if (!found.includes(id)) found.push(id);
  if (found.length === 0 && written.includes(",")) {
    throw invalidUsage(
      `No id begins with ${printable(written)}.`,
      "An id may contain a comma: for several ids, write --id before each.",
    );
  }
  if (found.length <= 1) return found[0] ?? written;
  const named = found.slice(0, mostNamed).map(printable).join(", ");
  throw invalidUsage(
    `Several ids begin with ${printable(written)}: ${named}${found.length > mostNamed ? ", …" : ""}.`,
    "Write more characters of the id that you mean.",
  );
}
