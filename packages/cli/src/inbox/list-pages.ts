import type { InboxAdmin, InboxFilter, InboxPage } from "@esim-webhooks/core";

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
