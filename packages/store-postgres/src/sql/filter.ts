import type { InboxFilter } from "@esim-webhooks/core";
import { frameStart } from "@esim-webhooks/core/internal";
import { type RawBuilder, sql } from "kysely";

/** The events that match a filter. Ids that were handled inline are no events: they have no receive time. */
export function matching(filter: InboxFilter): RawBuilder<boolean> {
  const { state, types, source, ids, idPrefix, since, until, error, expiredBy, dueAfter, subject } = filter;
  return allOf(
    sql`received_at is not null`,
    state && sql`state = ${state}`,
    types && sql`type = any(${[...types]}::text[])`,
    source !== undefined && sql`source = ${source}`,
    ids && sql`id = any(${[...ids]}::text[])`,
    idPrefix !== undefined && sql`starts_with(id, ${idPrefix})`,
    since && sql`received_at >= ${since}`,
    until && sql`received_at < ${until}`,
    error !== undefined && sql`strpos(split_part(error, ${frameStart}, 1), ${error}) > 0`,
    expiredBy && sql`state in ('done', 'unhandled') and kept_until <= ${expiredBy}`,
    dueAfter && sql`state = 'ready' and due_at > ${dueAfter}`,
    subject !== undefined && isAbout(subject),
  );
}

/** Whether an event is about a subject, as SQL. The index of done events has the hash of each subject. */
export function isAbout(subject: string): RawBuilder<boolean> {
  return sql`hashtext(subject) = hashtext(${subject}) and subject = ${subject}`;
}

/**
 * The conditions that together find all rows with a subject. The index of done rows has the subject's hash; the rows of the other states are
 * read one by one. Each condition repeats that of an index.
 */
export const statesOfSubjects: readonly RawBuilder<boolean>[] = [
  sql`state = 'done'`,
  sql`state = 'unhandled'`,
  sql`state = 'dead'`,
  sql`state = 'ready' and received_at is not null`,
  sql`state = 'leased' and body is not null and lane is null`,
  sql`lane is not null and state = 'leased'`,
];

export function allOf(
  ...conditions: readonly (RawBuilder<unknown> | false | undefined | "")[]
): RawBuilder<boolean> {
  const present = conditions.filter((condition) => typeof condition === "object");
  return present.length === 0 ? sql`true` : sql`${sql.join(present, sql` and `)}`;
}
