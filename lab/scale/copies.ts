import { kinds } from "./kinds.ts";

/** Copies of the rows that the product made. */
export interface Copies {
  /** How many, besides those that have expired: a multiple of 1,000. */
  readonly rows: number;
  /** How many done rows in addition, whose retention has ended. */
  readonly expired: number;
}

/** The parts of SQL that engines write differently. */
export interface Dialect {
  /** The id of the copy `n`, which is at a random place of the index. */
  readonly id: string;
  /** A time that is moved by some ms. */
  moved(column: string, ms: string): string;
}

const dayMs = 86_400_000;
/** The oldest copy was received that long ago: its retention of 30 days has not ended. */
const spreadMs = 29 * dayMs;
const expiredMs = 40 * dayMs;
const eventsOfSubject = 20;

const times: ReadonlySet<string> = new Set(
  "due_at kept_until received_at occurred_at taken_at settled_at".split(" "),
);

/** How many subjects the copies are about. The remainder spreads the rows of a subject over the kinds. */
export function subjectsOf(rows: number): number {
  return Math.floor(rows / eventsOfSubject / 1000) * 1000 + 371;
}

/** The copy `n` is of the last kind whose first slot is at most `n % 1000`. */
export function firstSlot(kind: number): number {
  return kinds.slice(0, kind).reduce((sum, { perThousand }) => sum + perThousand, 0);
}

/** The SQL query of the thousand rows to copy, each with its `slot`: `perThousand` of each kind. */
export function mix(table: string, slots: string): string {
  const ofKinds = kinds.map(({ id, isDueLater = false }, kind) => {
    const slot = `slot >= ${firstSlot(kind)} and slot < ${firstSlot(kind + 1)}`;
    return `select slot, ${isDueLater} as later, made.* from ${table} as made join ${slots} on ${slot} where id = '${id}'`;
  });
  return ofKinds.join(" union all ");
}

/** The SQL query of the copies. `numbers` is a relation with the numbers `n` from 0. */
export function copiesOf(
  columns: readonly string[],
  numbers: string,
  { rows }: Copies,
  { id, moved }: Dialect,
): string {
  const ms = `case when n < ${rows} then n * ${(spreadMs / rows).toFixed(3)} - ${spreadMs} else -${expiredMs} end`;
  const values = columns.map((column) => {
    if (column === "id") return id;
    if (column === "subject" || column === "lane")
      return `case when mix.${column} is not null then 'subject_' || (n % ${subjectsOf(rows)}) end`;
    if (column === "due_at") return `case when mix.later then due_at else ${moved("due_at", ms)} end`;
    return times.has(column) ? moved(column, ms) : `mix.${column}`;
  });
  return `select ${values.join()} from ${numbers} cross join mix
    where mix.slot = case when n < ${rows} then n % 1000 else 0 end`;
}
