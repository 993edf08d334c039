import type { InboxAdmin, InboxFilter, InboxPage } from "@esim-webhooks/core";

const pageRows = 1000;

/** The events that a filter means, the newest received first, `limit` at most, a page at a time. */
export async function* matching(
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
    await new Promise(setImmediate); // an embedded database would never let signals and closed pipes be heard
    left -= page.rows.length;
    cursor = page.nextCursor;
  }
}
