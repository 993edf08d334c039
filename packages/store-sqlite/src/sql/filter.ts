import type { SQLInputValue } from "node:sqlite";
import type { InboxFilter } from "@esim-webhooks/core";

/** A condition on the rows of events: SQL with a `?` for each of its parameters. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SQLInputValue[];
}

/** The rows that a filter means. */
export function matching(filter: InboxFilter): Condition {
  const { state, types, source, ids, idPrefix, since, until, error, endedBy } = filter;
  const conditions: Condition[] = [
    ...(state === undefined ? [] : [{ sql: `state = '${state}'`, parameters: [] }]), // written out, for the partial indexes
    ...anyOf("type", types),
    ...where("source =", source),
    ...anyOf("id", ids),
    ...(idPrefix === undefined
      ? []
      : [{ sql: "substr(id, 1, length(?)) = ?", parameters: [idPrefix, idPrefix] }]), // a LIKE would take _ for any character
    ...where("received_at >=", since?.getTime()),
    ...where("received_at <", until?.getTime()),
    ...(error === undefined ? [] : [inMessage(error)]),
    ...where("ends_at <=", endedBy?.getTime()),
  ];
  return {
    sql: ["true", ...conditions.map(({ sql }) => sql)].join(" and "),
    parameters: conditions.flatMap(({ parameters }) => parameters),
  };
}

/** What begins each frame of a stack in the text that is kept of an error: as in core, which the thread does not load. */
const frameStart = "\n    at ";

/** The frames of a stack, which follow the message, are not searched. */
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
