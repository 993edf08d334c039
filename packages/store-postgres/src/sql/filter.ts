import type { InboxFilter } from "@esim-webhooks/core";
import { frameStart } from "@esim-webhooks/core/kit";
import { type RawBuilder, sql } from "kysely";

/** The condition of a filter, on the columns of the table of events. */
export function matching(filter: InboxFilter): RawBuilder<boolean> {
  const { state, types, source, ids, idPrefix, since, until, error, endedBy, subject } = filter;
  const mayBeParked = state === undefined || state === "ready";
  return allOf(
    state && sql`state = ${state}`,
    types && sql`type = any(${[...types]}::text[])`,
    source !== undefined && sql`source = ${source}`,
    ids && sql`id = any(${[...ids]}::text[])`,
    idPrefix !== undefined && sql`starts_with(id, ${idPrefix})`,
    since && sql`received_at >= ${since}`,
    until && sql`received_at < ${until}`,
    error !== undefined && sql`strpos(split_part(error, ${frameStart}, 1), ${error}) > 0`,
    endedBy && (mayBeParked ? sql`coalesce(parked_due, ends_at) <= ${endedBy}` : sql`ends_at <= ${endedBy}`),
    subject !== undefined && isAbout(subject),
  );
}

/** The condition of the index of subjects, and of its key, which is a hash. */
export function isAbout(subject: string): RawBuilder<boolean> {
  return sql`subject is not null and hashtext(subject) = hashtext(${subject}) and subject = ${subject}`;
}

export const isFinished: RawBuilder<boolean> = sql`state in ('done', 'unhandled', 'dead')`;

/**
 * All rows with a subject: those that are finished have an index of subjects, and the others are read one by one. Each condition repeats that
 * of an index.
 */
export const statesOfSubjects: readonly RawBuilder<boolean>[] = [
  isFinished,
  sql`state = 'ready'`,
  sql`state = 'leased' and body is not null and lane is null`,
  sql`lane is not null and state = 'leased'`,
];

export function allOf(
  ...conditions: readonly (RawBuilder<unknown> | false | undefined | "")[]
): RawBuilder<boolean> {
  const present = conditions.filter((condition) => typeof condition === "object");
  return present.length === 0 ? sql`true` : sql`${sql.join(present, sql` and `)}`;
}
