import { type InboxPage, WebhookError } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { layoutFor } from "../terminal/layout.ts";
import { filterOf } from "./filter.ts";
import type { ListFlags } from "./flags.ts";
import { listPages } from "./list-pages.ts";
import { listView } from "./list-view.ts";
import { listedJson } from "./row-json.ts";
import { withInbox } from "./with-inbox.ts";

export async function list(this: CliContext, flags: ListFlags): Promise<void> {
  const { all = false, cursor, json = false, limit, reveal = false, status } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = { ...(await filterOf(flags, access, output)), ...(status && { state: status }) };
    let found = 0;
    let rest: string | null = null;
    const pages = listPages(inbox, filter, all ? undefined : limit, cursor);
    for await (const { rows, nextCursor } of namingCursor(pages, cursor)) {
      const view = { now: Date.now(), reveal, ...layoutFor(process.stdout) };
      if (json) for (const row of rows) output.json(listedJson(row, reveal));
      else if (rows.length > 0) for (const line of listView(rows, view)) output.data(line);
      found += rows.length;
      rest = nextCursor;
    }
    if (found === 0) output.note("No event matches.");
    if (rest === null) return;
    if (json) output.log(JSON.stringify({ nextCursor: rest }));
    else output.note("There are more events: --limit or --all shows them.");
  });
}

/** The same pages; an inbox that cannot read the cursor is reported as a wrong --cursor. */
async function* namingCursor(
  pages: AsyncGenerator<InboxPage>,
  cursor: string | undefined,
): AsyncGenerator<InboxPage> {
  try {
    yield* pages;
  } catch (error) {
    if (cursor === undefined || !WebhookError.is(error) || error.code !== "invalid_input") throw error;
    throw new ProgramError(
      "invalid_usage",
      "--cursor is not a cursor that inbox list has printed.",
      "Use the nextCursor that inbox list --json prints.",
      { cause: error },
    );
  }
}
