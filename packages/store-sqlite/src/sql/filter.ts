import type { SQLInputValue } from "node:sqlite";
import type { InboxFilter } from "@esim-webhooks/core";

/** A condition on the rows of events: SQL with a `?` for each of its parameters. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SQLInputValue[];
}

/** An `InboxFilter`, of which a field may be undefined. */
export type Filter = { readonly [Name in keyof InboxFilter]?: InboxFilter[Name] | undefined };

/** The condition of the index of all events. */
export const isEvent: Condition = { sql: "received_at is not null", parameters: [] };

/** The events that match a filter. Ids that were handled inline are no events: they have no receive time. */
export function matching(filter: Filter): Condition {
  const { state, types, source, since, until, error, expiredBy, dueAfter, subject } = filter;
  return all([
    { sql: "+received_at is not null", parameters: [] }, // the + keeps SQLite from choosing the index of all events
    ...(state === undefined ? [] : [{ sql: `state = '${state}'`, parameters: [] }]), // written out, for the partial indexes
    ...anyOf("type", types),
    ...where("source =", source),
    ...[ofIds(filter) ?? []].flat(),
    ...where("received_at >=", since?.getTime()),
    ...where("received_at <", until?.getTime()),
    ...(error === undefined ? [] : [inMessage(error)]),
    ...where("kept_until <=", expiredBy?.getTime()),
    ...(dueAfter === undefined
      ? []
      : [{ sql: "state = 'ready' and due_at > ?", parameters: [dueAfter.getTime()] }]),
    ...where("subject =", subject),
  ]);
}

/** The part of a filter that an index finds: its ids, or the events of its eSIM; undefined if it names neither. */
export function found(filter: Filter): Condition | undefined {
  return ofIds(filter) ?? (filter.subject === undefined ? undefined : ofSubject(filter));
}

/** The events of an eSIM in a range of time: read from the index alone, 70 ms for a million. */
export function ofSubject({ subject, since, until }: Filter): Condition {
  const { sql, parameters } = all([isEvent, matching({ since, until, subject })]);
  return {
    sql: `rowid in (select rowid from esim_webhooks_event indexed by esim_webhooks_event_received where ${sql})`,
    parameters,
  };
}

/** The rows that meet all conditions. */
export function all(conditions: readonly Condition[]): Condition {
  return {
    sql: ["true", ...conditions.map(({ sql }) => sql)].join(" and "),
    parameters: conditions.flatMap(({ parameters }) => parameters),
  };
}

/** The rows whose ids a filter names; undefined if it names none. */
export function ofIds({ ids, idPrefix }: Filter): Condition | undefined {
  if (ids === undefined && idPrefix === undefined) return undefined;
  return all([...anyOf("id", ids), ...(idPrefix === undefined ? [] : [beginsWith(idPrefix)])]);
}

/** The ids with a prefix, as a range of the index of the keys: a LIKE would take _ for any character. */
function beginsWith(prefix: string): Condition {
  const end = endOf(prefix);
  return end === undefined
    ? { sql: "id >= ?", parameters: [prefix] }
    : { sql: "id >= ? and id < ?", parameters: [prefix, end] };
}

/** The first text after all that begin with `prefix`; undefined if there is none. */
function endOf(prefix: string): string | undefined {
  const characters = [...prefix];
  const last = characters.pop()?.codePointAt(0);
  if (last === undefined) return undefined;
  if (last === 0x10ffff) return endOf(characters.join(""));
  const next = last === 0xd7ff ? 0xe000 : last + 1; // not a surrogate
  return characters.join("") + String.fromCodePoint(next);
}

/** The beginning of each frame of a stack in the text that is kept of an error: as in core, which the thread does not load. */
const frameStart = "\n    at ";

/** The errors whose message contains a text. The frames of a stack, which follow the message, are not searched. */
function inMessage(text: string): Condition {
  const message = "substr(error, 1, instr(error || ?, ?) - 1)";
  return { sql: `instr(${message}, ?) > 0`, parameters: [frameStart, frameStart, text] };
}

function where(comparison: string, value: string | number | undefined): Condition[] {
  return value === undefined ? [] : [{ sql: `${comparison} ?`, parameters: [value] }];
}

function anyOf(column: string, values: readonly string[] | undefined): Condition[] {
  if (values === undefined) return [];
  return [{ sql: `${column} in (select value from json_each(?))`, parameters: [JSON.stringify(values)] }];
}
