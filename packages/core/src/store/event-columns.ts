import { readErrorText } from "./error-text.ts";
import { readHistory } from "./history.ts";
import type { InboxRow, LaneHolder, StoredEvent } from "./stored-event.ts";

/**
 * A column of the table of events that has the same meaning in every SQL engine.
 * - `text`, `integer` and `bytes`: kept and read as they are
 * - `time`: ms since the Unix epoch, or the engine's own type for a time
 * - `json`: a JSON text
 */
export interface EventColumn {
  /** Its name in the table. */
  readonly name: string;
  /** Its name in an `InboxRow`, a `StoredEvent`, and the rows that `put` writes. */
  readonly field: string;
  /** How its values are kept. */
  readonly kind: "text" | "integer" | "time" | "json" | "bytes";
  /** Where its value comes from. `entry`: the entry, so `put` and `rerun` write it. `inbox`: the inbox itself. */
  readonly by: "entry" | "inbox";
  /** What reads it. `list`: lists and `get`. `get`: only `get`. `copy`: neither. A copy into another inbox reads all but the lease. */
  readonly read: "list" | "get" | "copy";
}

function column(
  name: string,
  kind: EventColumn["kind"],
  by: EventColumn["by"],
  read: EventColumn["read"],
): EventColumn {
  const field = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return { name, field, kind, by, read };
}

/** For authors of inboxes: the columns of an event that all SQL engines have. A table has others, which are its engine's own. */
export const eventColumns: readonly EventColumn[] = [
  column("source", "text", "entry", "list"),
  column("id", "text", "entry", "list"),
  column("state", "text", "inbox", "list"),
  column("type", "text", "entry", "list"),
  column("lane", "text", "entry", "list"),
  column("subject", "text", "entry", "list"),
  column("key", "text", "entry", "get"),
  column("trace", "text", "entry", "get"),
  column("replay", "json", "entry", "list"),
  column("fingerprint", "integer", "entry", "copy"),
  column("received_at", "time", "entry", "list"),
  column("occurred_at", "time", "entry", "copy"),
  column("due_at", "time", "inbox", "list"),
  column("leased_until", "time", "inbox", "list"),
  column("kept_until", "time", "inbox", "list"),
  column("waiting_since", "time", "inbox", "copy"),
  column("taken_at", "time", "inbox", "get"),
  column("settled_at", "time", "inbox", "list"),
  column("erased_at", "time", "inbox", "get"),
  column("attempts", "integer", "inbox", "list"),
  column("tries", "integer", "inbox", "list"),
  column("conflicts", "integer", "inbox", "list"),
  column("error", "text", "inbox", "list"),
  column("history", "json", "inbox", "get"),
  column("body", "bytes", "entry", "get"),
];

/** For authors of inboxes: the columns of a row of a list. */
export const listedColumns: readonly EventColumn[] = eventColumns.filter(({ read }) => read === "list");

/** For authors of inboxes: the columns of an event that `get` reads. */
export const shownColumns: readonly EventColumn[] = eventColumns.filter(({ read }) => read !== "copy");

/** A row of a table: its values by the names of the columns. */
export type ReadRow = Readonly<Record<string, unknown>>;

function fieldsOf(columns: readonly EventColumn[], row: ReadRow): Record<string, unknown> {
  return Object.fromEntries(columns.map((column) => [column.field, readValue(column, row[column.name])]));
}

function readValue({ kind }: EventColumn, value: unknown): unknown {
  if (value === null) return null;
  if (kind === "time") return new Date(value as number | Date);
  return kind === "json" ? (JSON.parse(String(value)) as unknown) : value;
}

/** For authors of inboxes: makes the `InboxRow` of a row with the listed columns. */
export function inboxRow(row: ReadRow): InboxRow {
  return {
    ...fieldsOf(listedColumns, row),
    error: readErrorText(row["error"] as string | null).error,
  } as InboxRow;
}

/** For authors of inboxes: makes the event that `get` returns. */
export function storedEvent(row: ReadRow, heldBy: LaneHolder | null): StoredEvent {
  return {
    ...(fieldsOf(shownColumns, row) as unknown as StoredEvent),
    ...readErrorText(row["error"] as string | null),
    history: readHistory(row["history"] as string | null),
    heldBy,
  };
}

/** Returns only the fields of these columns. */
export function pickFields(columns: readonly EventColumn[], row: object): Record<string, unknown> {
  return Object.fromEntries(columns.map(({ field }) => [field, row[field as keyof typeof row]]));
}

/** For authors of inboxes: returns an event with only the fields that a list has. */
export function withoutBody(event: InboxRow): InboxRow {
  return pickFields(listedColumns, event) as unknown as InboxRow;
}
