import type { InboxAdmin, InboxFilter, InboxPage, InboxRow, InboxState } from "@esim-webhooks/core";
import { masked } from "@esim-webhooks/core/masking";
import { maskText } from "../masking/mask-text.ts";
import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { ago, count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { cut, type Layout, layoutFor, shortened, unpainted } from "../terminal/text.ts";
import { filterOf, listPages, searchProgress } from "./filter.ts";
import type { ErrorsFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

/** Reads all dead events that match, and those that wait for another attempt, and shows their causes. */
export async function errors(this: CliContext, flags: ErrorsFlags): Promise<void> {
  const { json = false, limit } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = await filterOf(flags, access, output);
    const groups = await groupByError(rowsOf(inbox, filter, searchProgress(output, json)));
    const shown = groups.slice(0, limit);
    if (json) {
      for (const group of shown) output.json(group);
      return;
    }
    if (shown.length === 0) return output.note("No event that matches has failed.");
    for (const line of errorsView(shown, { now: Date.now(), ...layoutFor(process.stdout) }))
      output.data(line);
    if (shown.length < groups.length) output.note("There are more errors: --limit shows them.");
    if (inbox.capabilities.filters === undefined)
      output.note(
        "To retry the dead events of one error: esim-webhooks inbox retry --error '<a part of its text without #>'",
      );
  });
}

const mostReadyPages = 20; // a backlog may be long, and most of it has not failed

/** The dead events, then those of the newest ready ones that have failed. */
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

/** Events that failed of the same cause, and are in the same state. */
export interface ErrorGroup {
  /** `ready`: they are tried again. */
  readonly state: InboxState;
  /** Their error, with `#` in place of ids, numbers and addresses. Contains no personal data that `list` would mask. */
  readonly error: string;
  readonly count: number;
  /** When the first and the last of them were received. */
  readonly oldest: Date | null;
  readonly newest: Date | null;
  /** The most frequent first. Null: the body is not an envelope. */
  readonly types: readonly (string | null)[];
  /** One of their ids. */
  readonly exampleId: string;
}

interface OpenGroup {
  readonly state: InboxState;
  readonly error: string;
  readonly exampleId: string;
  count: number;
  oldest: Date | null;
  newest: Date | null;
  readonly types: Map<string | null, number>;
}

/** Groups rows by their errors, the most frequent first. */
export async function groupByError(pages: AsyncIterable<readonly InboxRow[]>): Promise<ErrorGroup[]> {
  const groups = new Map<string, OpenGroup>();
  for await (const rows of pages) for (const row of rows) add(groups, row);
  return [...groups.values()]
    .map(({ types, ...group }) => ({ ...group, types: mostFrequentFirst(types) }))
    .sort((a, b) => b.count - a.count);
}

function add(groups: Map<string, OpenGroup>, row: InboxRow): void {
  const { id, receivedAt, type, state } = row;
  const error = causeIn(row.error ?? "(no error)");
  const name = `${state} ${error}`;
  const group = groups.get(name) ?? {
    state,
    error,
    exampleId: id,
    count: 0,
    oldest: null,
    newest: null,
    types: new Map(),
  };
  groups.set(name, group);
  group.count += 1;
  group.types.set(type, (group.types.get(type) ?? 0) + 1);
  if (receivedAt === null) return;
  if (group.oldest === null || receivedAt < group.oldest) group.oldest = receivedAt;
  if (group.newest === null || receivedAt > group.newest) group.newest = receivedAt;
}

function mostFrequentFirst(types: ReadonlyMap<string | null, number>): (string | null)[] {
  return [...types].sort(([, a], [, b]) => b - a).map(([type]) => type);
}

const longestCause = 500;
const address = /[\w.+-]+@[\w.-]+/g;
const word = /[\w-]+/g;
/** HTTP statuses, and codes such as P2002: they distinguish causes. */
const code = /^(?:[45]\d\d|[A-Z]{1,3}\d{1,5})$/;

/** The part of an error that equal causes share. */
function causeIn(error: string): string {
  return maskText(error)
    .slice(0, longestCause)
    .replaceAll(masked, "#")
    .replace(address, "#")
    .replace(word, (found) => (/\d/.test(found) && !code.test(found) ? "#" : found))
    .replace(/#(?:[.:]#)+/g, "#");
}

const columns: readonly Column[] = [
  { title: "EVENTS", align: "right" },
  { title: "STATE" },
  { title: "OLDEST", align: "right" },
  { title: "NEWEST", align: "right" },
  { title: "EXAMPLE" },
  { title: "TYPES", cuts: true },
];

/** Two lines per group: what its events are, with one id whole, and below it their error. */
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
