import type { Inbox, InboxFilter, InboxPage, InboxRow } from "@esim-webhooks/core";

/** Bodies come along, so that a page must not be long. */
const pageRows = 200;

/** The events that a filter means, the newest received first, `limit` at most, a page at a time. */
export async function* matching(
  inbox: Pick<Inbox, "list">,
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
    await new Promise(setImmediate); // an embedded database would never let signals and closed pipes be heard
    left -= page.rows.length;
    cursor = page.nextCursor;
  }
}

/** How many events a filter means, counted no further than the limit. */
export async function countMatching(
  inbox: Pick<Inbox, "list">,
  filter: InboxFilter,
  limit: number,
  counts: (row: InboxRow) => boolean = () => true,
): Promise<number> {
  let found = 0;
  for await (const { rows } of matching(inbox, filter)) {
    found += rows.filter(counts).length;
    if (found >= limit) return limit;
  }
  return found;
}
