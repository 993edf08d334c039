import { type InboxPage, WebhookError } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { layoutFor } from "../terminal/layout.ts";
import { filterOf } from "./filter.ts";
import type { ListFlags } from "./flags.ts";
import { listView } from "./list-view.ts";
import { matching } from "./matching.ts";
import { listedJson } from "./row-json.ts";
import { withInbox } from "./with-inbox.ts";

export async function list(this: CliContext, flags: ListFlags): Promise<void> {
  const { all = false, cursor, json = false, limit, reveal = false, status } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (at) => {
    const { inbox } = at;
    const filter = { ...(await filterOf(flags, at, output)), ...(status && { state: status }) };
    let found = 0;
    let rest: string | null = null;
    const pages = matching(inbox, filter, all ? undefined : limit, cursor);
    for await (const { rows, nextCursor } of readable(pages, cursor)) {
      const view = { now: Date.now(), reveal, ...layoutFor(process.stdout) };
      if (json) for (const row of rows) output.json(listedJson(row, reveal));
      else if (rows.length > 0) for (const line of listView(rows, view)) output.data(line);
      found += rows.length;
      rest = nextCursor;
    }
    if (found === 0) output.note("No event matches.");
    if (rest !== null)
      output.note(
        json ? JSON.stringify({ nextCursor: rest }) : "There are more: --limit or --all shows them.",
      );
  });
}

/** Only the inbox can read a cursor. */
async function* readable(
  pages: AsyncGenerator<InboxPage>,
  cursor: string | undefined,
): AsyncGenerator<InboxPage> {
  try {
    yield* pages;
  } catch (error) {
    if (cursor === undefined || !WebhookError.is(error) || error.code !== "invalid_input") throw error;
    throw new ProgramError(
      "invalid_usage",
      "--cursor is none that a list has given.",
      "Take it from nextCursor.",
      {
        cause: error,
      },
    );
  }
}
