import type { InboxAdmin, InboxFilter, InboxRow } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { layoutFor } from "../terminal/layout.ts";
import { groupByError } from "./error-groups.ts";
import { errorsView } from "./errors-view.ts";
import { filterOf } from "./filter.ts";
import type { ErrorsFlags } from "./flags.ts";
import { listPages } from "./list-pages.ts";
import { withInbox } from "./with-inbox.ts";

/** Reads all dead events that match, and shows their causes. */
export async function errors(this: CliContext, flags: ErrorsFlags): Promise<void> {
  const { json = false, limit } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = { ...(await filterOf(flags, access, output)), state: "dead" } as const;
    const groups = await groupByError(rowsOf(inbox, filter));
    const shown = groups.slice(0, limit);
    if (json) {
      for (const group of shown) output.json(group);
      return;
    }
    if (shown.length === 0) return output.note("No dead event matches.");
    for (const line of errorsView(shown, { now: Date.now(), ...layoutFor(process.stdout) }))
      output.data(line);
    if (shown.length < groups.length) output.note("There are more errors: --limit shows them.");
    if (inbox.capabilities.filters === undefined)
      output.note(
        "To retry the events of one error: esim-webhooks inbox retry --error '<a part of its text without #>'",
      );
  });
}

async function* rowsOf(
  inbox: Pick<InboxAdmin, "list">,
  filter: InboxFilter,
): AsyncGenerator<readonly InboxRow[]> {
  for await (const { rows } of listPages(inbox, filter)) yield rows;
}
