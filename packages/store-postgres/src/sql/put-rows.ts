import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { InboxEntry } from "@esim-webhooks/core";
import { occurredAtMs } from "@esim-webhooks/core/engine";
import { type RawBuilder, sql } from "kysely";
import { numberArray, textArray } from "./batch.ts";

/** An entry, and the columns derived from it. */
export interface PutRow {
  readonly entry: InboxEntry;
  /** The text of its key. */
  readonly key: string;
  readonly lane: string | null;
  /** Its replay as JSON that `jsonb` accepts. */
  readonly replay: string | null;
  readonly subject: string | null;
}

/**
 * The rows as an SQL relation with the columns `source`, `id`, `type`, `body`, `fingerprint`, `received`, `occurred`, `lane`,
 * `subject`, `key`, `trace`, `replay`, and `place`, which counts from 1.
 */
export function putRows(rows: readonly PutRow[]): RawBuilder<unknown> {
  const entries = rows.map(({ entry }) => entry);
  let offset = 1;
  const offsets = entries.map(({ body }) => {
    const begin = offset;
    offset += body.byteLength;
    return begin;
  });
  // one parameter for all bodies: pg sends a buffer as binary, but escapes an array as text
  const bodies = Buffer.concat(entries.map(({ body }) => body));
  const replays = rows.some(({ replay }) => replay !== null)
    ? `[${rows.map(({ replay }) => replay ?? "null").join()}]`
    : null;
  return sql`
    select source, id, type, substring(${bodies}::bytea from body_begin for body_length) as body, fingerprint,
      to_timestamp(received) as received, to_timestamp(occurred) as occurred, lane, subject, key, trace, nullif(replay, 'null') as replay, place
    from rows from (
      unnest(
        ${textArray(entries.map(({ source }) => source))}::text[],
        ${textArray(entries.map(({ id }) => id))}::text[],
        ${textArray(entries.map(({ type }) => storable(type)))}::text[],
        ${numberArray(offsets)}::int[],
        ${numberArray(entries.map(({ body }) => body.byteLength))}::int[],
        ${numberArray(entries.map(({ body }) => crc32(body)))}::bigint[],
        ${numberArray(entries.map(({ receivedAt }) => receivedAt.getTime() / 1000))}::float8[],
        ${numberArray(entries.map(occurredAt))}::float8[],
        ${textArrayIfAny(rows.map(({ lane }) => storable(lane)))}::text[],
        ${textArrayIfAny(rows.map(({ subject }) => subject))}::text[],
        ${textArrayIfAny(entries.map(({ key }) => storable(key ?? null)))}::text[],
        ${textArrayIfAny(entries.map(({ trace }) => storable(trace ?? null)))}::text[]
      ),
      jsonb_array_elements(${replays}::text::jsonb)
    ) with ordinality as entry (source, id, type, body_begin, body_length, fingerprint, received, occurred, lane, subject, key, trace, replay, place)`;
}

/** Null if all values are null: the server then reads nothing, and its `unnest` fills the column with nulls. */
function textArrayIfAny(values: readonly (string | null)[]): string | null {
  return values.every((value) => value === null) ? null : textArray(values);
}

/** In seconds since the epoch. */
function occurredAt(entry: InboxEntry): number | null {
  const ms = occurredAtMs(entry);
  return ms === null ? null : ms / 1000;
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

/** Replaces NUL, which Postgres refuses. Only for columns that can be read from the body again. */
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
