import { type InboxPage, type InboxRow, WebhookError } from "@esim-webhooks/core";
import { ago, type HeldBack, heldBackOf, storeTimeMs } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { maskText, shortened } from "@esim-webhooks/core/masking";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { columnsOf, cut, type Layout, layoutFor, unpainted } from "../terminal/text.ts";
import { filterOf, listPages, searchNote, searchProgress } from "./filter.ts";
import type { ListFlags } from "./flags.ts";
import { listedJson, maskedListedJson } from "./row-json.ts";
import { stateTones } from "./stats.ts";
import { withInbox } from "./with-inbox.ts";

export async function list(this: CliContext, flags: ListFlags): Promise<void> {
  const { all = false, cursor, json = false, limit, reveal = false, status } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = { ...(await filterOf(flags, access, output)), ...(status && { state: status }) };
    const note = searchProgress(searchNote(output, flags));
    let found = 0;
    let rest: string | null = null;
    let unshown: InboxRow[] = [];
    const withHeading = headedOnce();
    const showTable = async () => {
      const now = await storeTimeMs(inbox, this.now());
      const heldBack = await heldBackOf(inbox, unshown, { now, pauses: await inbox.paused() });
      const view = { now, reveal, heldBack, ...layoutFor(process.stdout, process.env) };
      for (const line of withHeading(listView(unshown, view))) output.data(line);
    };
    const show = async () => {
      if (json) for (const row of unshown) output.json(reveal ? listedJson(row) : maskedListedJson(row));
      else if (unshown.length > 0) await showTable();
      unshown = [];
    };
    const pages = listPages(inbox, filter, all ? undefined : limit, cursor);
    for await (const page of namingCursor(pages, cursor)) {
      unshown.push(...page.rows);
      if (json || page.rows.length === 0 || unshown.length >= tableRows) await show();
      note(page);
      found += page.rows.length;
      rest = page.nextCursor;
    }
    await show();
    if (found === 0) output.note("No event matches.");
    if (rest === null) return;
    if (json) output.log(JSON.stringify({ nextCursor: rest }));
    else output.note("There are more events: --limit or --all shows them.");
  });
}

/** Returns a function that leaves out the heading of a table that has the same columns as the table before it. */
export function headedOnce(): (table: readonly string[]) => readonly string[] {
  let shown: string | undefined;
  return (table) => {
    const titles = table[0]?.replaceAll(/ +/g, " ");
    const isShown = titles === shown;
    shown = titles;
    return isShown ? table.slice(1) : table;
  };
}

/** After this many rows, a table is printed, so that a long list is shown as it is read. */
const tableRows = 1000;

/** Yields the pages. If the inbox cannot read the cursor, the error names --cursor. */
async function* namingCursor(
  pages: AsyncGenerator<InboxPage>,
  cursor: string | undefined,
): AsyncGenerator<InboxPage> {
  try {
    yield* pages;
  } catch (error) {
    if (cursor === undefined || !WebhookError.is(error) || error.code !== "invalid_input") throw error;
    throw invalidUsage(
      "--cursor is not a cursor that inbox list has printed.",
      "Use the nextCursor that inbox list --json prints.",
      { cause: error },
    );
  }
}

export interface ListView extends Layout {
  readonly now: number;
  readonly reveal: boolean;
  /** The rows that no worker can take although they are ready. */
  readonly heldBack: ReadonlyMap<InboxRow, HeldBack>;
}

/** The room that the columns next to the ids need to be of use. */
const columnsBesideIds = 56;

/**
 * Returns one line per event, with the whole id, since users copy ids. On a terminal too narrow for everything, the tries are left out, and
 * an error has its own line. There is a column of sources when an event has another source than the default.
 */
export function listView(
  rows: readonly InboxRow[],
  { now, reveal, heldBack, ...layout }: ListView,
): string[] {
  const withSource = rows.some(({ source }) => source !== "default");
  const { width = Number.POSITIVE_INFINITY, paint = unpainted } = layout;
  const longestId = Math.max(...rows.map(({ id }) => columnsOf(printable(id))));
  const isNarrow = longestId + columnsBesideIds > width;
  const errors = rows.map(({ error }) =>
    printable(error === null || reveal ? (error ?? "") : maskText(error)),
  );
  const columns: Column[] = [
    ...(withSource ? [{ title: "SOURCE", cuts: true as const }] : []),
    { title: "ID" },
    { title: "TYPE", cuts: true },
    { title: "STATE" },
    { title: "RECEIVED", align: "right" },
    ...(isNarrow
      ? []
      : [
          { title: "TRIES", align: "right" as const },
          { title: "ERROR", cuts: true as const },
        ]),
  ];
  const cells = rows.map((row, index) => {
    const { source, id, type, state, receivedAt, tries } = row;
    return [
      ...(withSource ? [printable(source)] : []),
      printable(id),
      type === null ? { text: "(invalid)", tone: "faint" as const } : printable(shortened(type)),
      { text: heldBack.get(row) ?? state, tone: stateTones[state] },
      receivedAt === null ? "" : ago(receivedAt, now),
      ...(isNarrow ? [] : [count(tries), errors[index] ?? ""]),
    ];
  });
  const [head = "", ...lines] = table(columns, cells, layout);
  const below = (error = "") => (isNarrow && error !== "" ? [paint("faint", cut(`  ${error}`, width))] : []);
  return [head, ...lines.flatMap((line, index) => [line, ...below(errors[index])])];
}
