import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { InboxEntry } from "@esim-webhooks/core";
import { type EventColumn, eventColumns, keyText, occurredAtMs } from "@esim-webhooks/core/engine";
import { type RawBuilder, sql } from "kysely";
import { numberArray, textArray } from "./batch.ts";

/** An entry as a row of the table. */
export interface PutRow {
  readonly entry: InboxEntry;
  /** The text of its key. */
  readonly key: string;
  /** A value for each column that an entry has, by its field, except the body. JSON is text that `jsonb` accepts, and a time is in ms. */
  readonly values: Readonly<Record<string, string | number | null>>;
}

export function putRow(entry: InboxEntry, lane: string | null, subject: string | null): PutRow {
  const { source, id, type, body, receivedAt, key = null, trace = null, replay } = entry;
  return {
    entry,
    key: keyText(entry),
    values: {
      ...{ source, id, subject },
      type: storable(type),
      lane: storable(storableLane(lane)),
      key: storable(key),
      trace: storable(trace),
      replay: replay === undefined ? null : storableJson(JSON.stringify(replay)),
      fingerprint: crc32(body),
      receivedAt: receivedAt.getTime(),
      occurredAt: occurredAtMs(entry),
    },
  };
}

const entryColumns = eventColumns.filter(({ by }) => by === "entry");
const names = entryColumns.map(({ name }) => name);

/** The names of the columns that an entry has, as SQL. */
export const entryNames: RawBuilder<unknown> = sql.raw(names.join(", "));

/** Sets these columns, except `source` and `id`, to the values of the relation `entry`, as SQL. */
export const entryAssignments: RawBuilder<unknown> = sql.raw(
  names
    .filter((name) => name !== "source" && name !== "id")
    .map((name) => `${name} = entry.${name}`)
    .join(", "),
);

/** How a column of each kind is read from the arrays. All bodies are one `bytea`; two arrays have the place and the length of each. */
const reading: Readonly<Record<EventColumn["kind"], (name: string) => string>> = {
  text: (name) => name,
  integer: (name) => name,
  time: (name) => `to_timestamp(${name}) as ${name}`,
  json: (name) => `(${name})::jsonb as ${name}`,
  bytes: (name) => `substring(bodies from ${name} for ${name}_length) as ${name}`,
};

const read = sql.raw(entryColumns.map(({ name, kind }) => reading[kind](name)).join(", "));
const arrayNames = sql.raw(
  entryColumns.map(({ name, kind }) => (kind === "bytes" ? `${name}, ${name}_length` : name)).join(", "),
);

/** The rows as an SQL relation with the columns that an entry has, and `place`, which counts from 1. */
export function putRows(rows: readonly PutRow[]): RawBuilder<unknown> {
  // one parameter for all bodies: pg sends a buffer as binary, but escapes an array as text
  const bodies = Buffer.concat(rows.map(({ entry }) => entry.body));
  return sql`
    select ${read}, place
    from (select ${bodies}::bytea as bodies) as given,
      unnest(${sql.join(entryColumns.map((column) => arrayOf(column, rows)))})
        with ordinality as entry (${arrayNames}, place)`;
}

/** The array of the values of a column, or the two arrays for the bodies. */
function arrayOf({ field, kind }: EventColumn, rows: readonly PutRow[]): RawBuilder<unknown> {
  if (kind === "bytes") {
    let next = 1;
    const lengths = rows.map(({ entry }) => entry.body.byteLength);
    const begins = lengths.map((length) => {
      next += length;
      return next - length;
    });
    return sql`${numberArray(begins)}::int[], ${numberArray(lengths)}::int[]`;
  }
  const values = rows.map(({ values }) => values[field] ?? null);
  if (kind === "integer") return sql`${numberArray(values as (number | null)[])}::bigint[]`;
  if (kind === "time")
    return sql`${numberArray(values.map((ms) => (ms === null ? null : Number(ms) / 1000)))}::float8[]`;
  return sql`${textArrayIfAny(values as (string | null)[])}::text[]`;
}

/** Null if all values are null: the server then reads nothing, and its `unnest` fills the column with nulls. */
function textArrayIfAny(values: readonly (string | null)[]): string | null {
  return values.every((value) => value === null) ? null : textArray(values);
}

/** Key and lane share an index, whose entries have at most 2,704 bytes. */
const longestLaneBytes = 500;

/** The lane, hashed if it is too long for its index. */
export function storableLane(lane: string | null): string | null {
  return lane !== null && Buffer.byteLength(lane) > longestLaneBytes ? shortened(lane) : lane;
}

export function shortened(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Replaces NUL, which Postgres refuses. Not for texts that must be exact: a source, an id or a subject. */
export function storable(text: string | null): string | null {
  return text?.replaceAll("\0", "\uFFFD") ?? null;
}

/** Replaces the escapes of NUL and of lone surrogates in JSON text: `jsonb` refuses both. */
export function storableJson(json: string): string {
  if (!json.includes("\\u")) return json;
  return json.replace(/\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g, (found) =>
    found === "\\\\" ? found : "\uFFFD",
  );
}
