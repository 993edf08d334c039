import type { Inbox, InboxFilter, InboxRow } from "@esim-webhooks/core";

/** Bodies come along, so that a page must not be long. */
const pageRows = 200;

/** The events that a filter means, the newest received first, `limit` at most, a page at a time. */
export async function* matching(
  inbox: Pick<Inbox, "list">,
  filter: InboxFilter,
  limit: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly InboxRow[]> {
  let cursor: string | undefined;
  for (let left = limit; left > 0; ) {
    const page = await inbox.list(filter, {
      limit: Math.min(pageRows, left),
      ...(cursor !== undefined && { cursor }),
    });
    yield page.rows;
    left -= page.rows.length;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

/** How many events an action would be about, counted no further than its limit. */
export async function countMatching(
  inbox: Pick<Inbox, "list">,
  filter: InboxFilter,
  limit: number,
  counts: (row: InboxRow) => boolean = () => true,
): Promise<number> {
  let found = 0;
  for await (const rows of matching(inbox, filter)) {
    found += rows.filter(counts).length;
    if (found >= limit) return limit;
  }
  return found;
}
