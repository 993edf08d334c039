import type { InboxAdmin, InboxRow } from "@esim-webhooks/core";
import { causeOf } from "@esim-webhooks/core/internal";
import type { Filter } from "./contract.ts";
import { inboxFilter } from "./filter.ts";

/** A page of the events that a filter of the page selects. */
export interface Selection {
  readonly rows: readonly InboxRow[];
  readonly nextCursor: string | null;
  readonly searchedTo: Date | null;
}

/** A page of a list. A filter by cause may leave fewer rows on it, or none. */
export async function select(
  inbox: InboxAdmin,
  filter: Filter,
  limit: number,
  cursor?: string | null,
): Promise<Selection> {
  const { cause, ...others } = filter;
  const part = cause === undefined || inbox.capabilities.filters ? "" : longestPart(cause);
  const error = others.error ?? (part === "" ? undefined : part);
  const selected = inboxFilter(inbox, { ...others, ...(error !== undefined && { error }) });
  const page = await inbox.list(selected, { limit, ...(typeof cursor === "string" && { cursor }) });
  if (cause === undefined) return page;
  return { ...page, rows: page.rows.filter((row) => causeOf(row.error) === cause) };
}

const longestSearchMs = 200;

/** A full page, which several pages of the inbox may have filled. It is shorter at the end of the list, and after a search of `longestSearchMs`. */
export async function selectSome(
  inbox: InboxAdmin,
  filter: Filter,
  limit: number,
  cursor?: string,
): Promise<Selection> {
  const endAt = performance.now() + longestSearchMs;
  const rows: InboxRow[] = [];
  let page: Selection | undefined;
  do {
    page = await select(inbox, filter, limit - rows.length, page?.nextCursor ?? cursor);
    rows.push(...page.rows);
  } while (page.nextCursor !== null && rows.length < limit && performance.now() < endAt);
  return { ...page, rows };
}

/** The longest part of a cause that all of its errors contain. */
function longestPart(cause: string): string {
  const parts = cause.split("#").map((part) => part.trim());
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** Yields all pages of a list. */
export async function* selectAll(
  inbox: InboxAdmin,
  filter: Filter,
  limit: number,
): AsyncGenerator<Selection> {
  let page: Selection | undefined;
  while (page?.nextCursor !== null) {
    page = await select(inbox, filter, limit, page?.nextCursor);
    yield page;
  }
}
