import { masked, maskText } from "../base/masking.ts";
import type { InboxRow, InboxState } from "./stored-event.ts";

/** Events that failed for the same cause, and are in the same state. */
export interface ErrorGroup {
  /** Their state. `ready`: they are tried again. */
  readonly state: InboxState;
  /** Their error, with `#` in place of ids, numbers, addresses and other personal data. */
  readonly error: string;
  /** How many events there are. */
  readonly count: number;
  /** When the first of them was received. Null: unknown. */
  readonly oldest: Date | null;
  /**
   * When the last of them failed. For a dead event, when it died; for a ready one, when it was received, since lists do not show when it failed.
   * Null: unknown.
   */
  readonly newest: Date | null;
  /** Their types, the most frequent first. Null: the body is not an envelope. */
  readonly types: readonly (string | null)[];
  /** The id of one of them: the event of `newest`, if that is known. */
  readonly exampleId: string;
}

interface OpenGroup {
  readonly state: InboxState;
  readonly error: string;
  exampleId: string;
  count: number;
  oldest: Date | null;
  newest: Date | null;
  readonly types: Map<string | null, number>;
}

/** Groups rows by error and state, the largest group first. */
export async function groupByError(
  pages: AsyncIterable<readonly InboxRow[]> | Iterable<readonly InboxRow[]>,
): Promise<ErrorGroup[]> {
  const groups = new Map<string, OpenGroup>();
  for await (const rows of pages) for (const row of rows) add(groups, row);
  return [...groups.values()]
    .map(({ types, ...group }) => ({ ...group, types: mostFrequentFirst(types) }))
    .sort((a, b) => b.count - a.count);
}

function add(groups: Map<string, OpenGroup>, row: InboxRow): void {
  const { id, receivedAt, settledAt, type, state } = row;
  const error = causeOf(row.error);
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
  const failedAt = settledAt ?? receivedAt;
  if (group.newest !== null && failedAt <= group.newest) return;
  group.newest = failedAt;
  group.exampleId = id;
}

function mostFrequentFirst(types: ReadonlyMap<string | null, number>): (string | null)[] {
  return [...types].sort(([, a], [, b]) => b - a).map(([type]) => type);
}

const longestCause = 500;
const address = /[\w.+-]+@[\w.-]+/g;
const word = /[\w-]+/g;
/** HTTP statuses of errors, and codes such as P2002: they distinguish causes. */
const code = /^(?:[45]\d\d|[A-Z]{1,3}\d{1,5})$/;

/** Returns the text that errors of the same cause share: the `error` of their group. */
export function causeOf(error: string | null): string {
  return maskText(error ?? "(no error)")
    .slice(0, longestCause)
    .replaceAll(masked, "#")
    .replace(address, "#")
    .replace(word, (found) => (/\d/.test(found) && !code.test(found) ? "#" : found))
    .replace(/#(?:[.:]#)+/g, "#");
}
