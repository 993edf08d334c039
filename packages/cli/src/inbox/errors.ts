import type { InboxAdmin, InboxFilter, InboxPage, InboxRow } from "@esim-webhooks/core";
import { ago, type ErrorGroup, groupByError } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import type { CliContext } from "../program/context.ts";
import { count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { cut, type Layout, layoutFor, unpainted } from "../terminal/text.ts";
import { filterOf, listPages, searchNote, searchProgress } from "./filter.ts";
import type { ErrorsFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

/** Shows the errors of all matching dead events, and of the newest matching events that wait for another attempt. */
export async function errors(this: CliContext, flags: ErrorsFlags): Promise<void> {
  const { json = false, limit } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = await filterOf(flags, access, output);
    const groups = await groupByError(rowsOf(inbox, filter, searchProgress(searchNote(output, flags))));
    const shown = groups.slice(0, limit);
    if (json) {
      for (const group of shown) output.json(group);
      return;
    }
    if (shown.length === 0) return output.note("No event that matches has failed.");
    for (const line of errorsView(shown, { now: this.now(), ...layoutFor(process.stdout, process.env) }))
      output.data(line);
    if (shown.length < groups.length) output.note("There are more errors: --limit shows them.");
    if (inbox.capabilities.filters === undefined)
      output.note(
        "To retry the dead events of one error: esim-webhooks inbox retry --error '<a part of its text without #>'",
      );
  });
}

const mostReadyPages = 20; // a backlog may be long, and most of it has not failed

/** Yields the dead events, then, from the newest pages of ready events, those that have an error. */
export async function* rowsOf(
  inbox: Pick<InboxAdmin, "list">,
  filter: InboxFilter,
  note: (page: InboxPage) => void,
): AsyncGenerator<readonly InboxRow[]> {
  for await (const page of listPages(inbox, { ...filter, state: "dead" })) {
    note(page);
    yield page.rows;
  }
  let pages = 0;
  for await (const page of listPages(inbox, { ...filter, state: "ready" })) {
    yield page.rows.filter(({ error }) => error !== null);
    pages += 1; // a page with few rows, or none, may have searched thousands
    if (pages === mostReadyPages) return;
  }
}

const columns: readonly Column[] = [
  { title: "EVENTS", align: "right" },
  { title: "STATE" },
  { title: "OLDEST", align: "right" },
  { title: "NEWEST", align: "right" },
  { title: "EXAMPLE" },
  { title: "TYPES", cuts: true },
];

/** Returns two lines per group: its events, with the whole id of one of them, and below, their error. */
export function errorsView(
  groups: readonly ErrorGroup[],
  { now, ...layout }: Layout & { readonly now: number },
): string[] {
  const { width = Number.POSITIVE_INFINITY, paint = unpainted } = layout;
  const when = (date: Date | null) => (date === null ? "" : ago(date, now));
  const cells = groups.map((group) => [
    count(group.count),
    group.state,
    when(group.oldest),
    when(group.newest),
    printable(group.exampleId),
    group.types.map((type) => (type === null ? "(invalid)" : printable(shortened(type)))).join(", "),
  ]);
  const [head = "", ...lines] = table(columns, cells, layout);
  const below = ({ error }: ErrorGroup) => paint("bad", cut(`  ${printable(error)}`, width));
  return [head, ...groups.flatMap((group, index) => [lines[index] ?? "", below(group)])];
}
