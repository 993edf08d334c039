import * as z from "zod/mini";
import { documentedType } from "./documented.ts";
import { type DriftFinding, isSameFinding } from "./finding.ts";
import { folded, mostFields } from "./fold.ts";
import { type JsonTypes, jsonTypeNames, jsonTypesOf } from "./json-type.ts";
import type { Fields, Unwritten } from "./shapes.ts";

/** The state of an event type in the state store: the shape of its events. */
export interface TypeRow {
  seen: number;
  since: string | null;
  until: string | null;
  readonly fields: Map<string, { types: JsonTypes; always: boolean }>;
  /** The findings. Acknowledged ones stay, so that they are not found again. */
  readonly findings: (DriftFinding & { acknowledged?: true })[];
}

/** From this many events on, what all of them had in common is expected of every event. */
const eventsToLearn = 100;

const mostFindings = 64;

const jsonType = z.enum(["null", "string", "number", "boolean", "array", "object"]);
const storedRow = z.object({
  seen: z.number(),
  since: z.nullable(z.string()),
  until: z.nullable(z.string()),
  fields: z.record(z.string(), z.object({ types: z.array(jsonType), always: z.boolean() })),
  findings: z.array(
    z.object({
      kind: z.enum(["new_type", "new_field", "missing_field", "other_json_type", "new_value"]),
      field: z.optional(z.string()),
      jsonType: z.optional(jsonType),
      value: z.optional(z.string()),
      since: z.string(),
      acknowledged: z.optional(z.literal(true)),
    }),
  ),
});

/** Reads a row. Without a value, or with the value of another program, the row is empty. */
export function readRow(value: unknown): TypeRow {
  const read = storedRow.safeParse(value);
  if (!read.success) return { seen: 0, since: null, until: null, fields: new Map(), findings: [] };
  const { fields, findings, ...row } = read.data;
  const entries = Object.entries(fields).map(
    ([name, { types, always }]) => [name, { types: jsonTypesOf(types), always }] as const,
  );
  return { ...row, fields: new Map(entries), findings: findings as TypeRow["findings"] };
}

/** Returns the row as plain JSON. */
export function rowValue({ fields, ...row }: TypeRow): unknown {
  const entries = [...fields].map(([name, { types, always }]) => [
    name,
    { types: jsonTypeNames(types), always },
  ]);
  return { ...row, fields: Object.fromEntries(entries) };
}

/**
 * Adds what a process has seen to a row: fields by union, times by their minimum and maximum, counts by their sum. So these do not depend on
 * the order in which processes write. Returns the findings that the row did not have.
 */
export function mergeInto(
  row: TypeRow,
  type: string,
  isKnown: boolean,
  unwritten: Unwritten,
): DriftFinding[] {
  const { seen, shapes, values } = unwritten;
  const [since, until] = [unwritten.since.toISOString(), unwritten.until.toISOString()];
  const found: DriftFinding[] = [];
  const note = (finding: Omit<DriftFinding, "since">) => {
    const full: DriftFinding = { ...finding, since };
    if (row.findings.length >= mostFindings || row.findings.some((known) => isSameFinding(known, full)))
      return;
    row.findings.push(full);
    found.push(full);
  };
  if (!isKnown) note({ kind: "new_type" });
  for (const [index, shape] of shapes.entries()) mergeShape(row, type, shape, row.seen + index === 0, note);
  for (const [field, value] of values) note({ kind: "new_value", field, value });
  row.seen += seen;
  if (row.since === null || since < row.since) row.since = since;
  if (row.until === null || until > row.until) row.until = until;
  return found;
}

function mergeShape(
  row: TypeRow,
  type: string,
  shape: Fields,
  isFirst: boolean,
  note: (finding: Omit<DriftFinding, "since">) => void,
): void {
  const documented = documentedType(type);
  const isLearned = row.seen >= eventsToLearn;
  const noteTypes = (field: string, types: JsonTypes) => {
    for (const jsonType of jsonTypeNames(types)) note({ kind: "other_json_type", field, jsonType });
  };
  const present = new Set<string>();
  for (const [name, types] of shape) {
    const field = row.fields.has(name) || row.fields.size < mostFields - 1 ? name : folded;
    present.add(field);
    const known = row.fields.get(field);
    const expected = documented?.fields.get(field);
    if (expected !== undefined) noteTypes(field, types & ~expected);
    else if (known !== undefined && isLearned) noteTypes(field, types & ~known.types);
    else if (known === undefined && (documented !== undefined || isLearned))
      for (const jsonType of jsonTypeNames(types).slice(0, 1)) note({ kind: "new_field", field, jsonType });
    if (known === undefined) row.fields.set(field, { types, always: isFirst });
    else known.types |= types;
  }
  for (const [field, known] of row.fields) {
    if (present.has(field)) continue;
    if (known.always && isLearned) note({ kind: "missing_field", field });
    known.always = false;
  }
  for (const field of documented?.required ?? [])
    if (!present.has(field)) note({ kind: "missing_field", field });
}
