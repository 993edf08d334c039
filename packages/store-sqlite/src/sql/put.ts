import type { SQLInputValue } from "node:sqlite";
import type { EventKey, PutResult } from "@esim-webhooks/core";
import type { EventColumn } from "@esim-webhooks/core/engine";
import { discarded, FaultError } from "../database/faults.ts";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded } from "./lease.ts";
import { isPausedType, pausedTypes } from "./pause.ts";

/** An entry on its way to the database's thread. It has one property for each column, named by the column's `field`. */
export interface PutRow extends EventKey {
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly lane: string | null;
  readonly occurredAt: number | null;
  readonly replay: string | null;
  readonly rebuilt: boolean;
  readonly [field: string]: string | number | boolean | null | Uint8Array;
}

/** A column that an entry has, and the field of its rows. */
export type EntryColumn = Pick<EventColumn, "name" | "field">;

export interface PutInput {
  readonly rows: readonly PutRow[];
  readonly columns: readonly EntryColumn[];
  /** When the last delivery was received, in ms since the Unix epoch, if that is to be noted. */
  readonly lastDelivery?: number;
}

/** Stores rows, and returns a result for each. A second row of the same key is compared with the one that is stored by then. */
export function put(tx: Transaction, { rows, columns, lastDelivery }: PutInput): PutResult[] {
  if (lastDelivery !== undefined) noteDelivery(tx, lastDelivery);
  const insertion: Insertion = { columns, paused: new Set(pausedTypes(tx).types) };
  const results: PutResult[] = [];
  for (let at = 0; at < rows.length; at += mostInserted) {
    const some = rows.slice(at, at + mostInserted);
    const isNew = insert(tx, some, insertion);
    for (const row of some) results.push(isNew(row) ? "stored" : compare(tx, row, insertion));
  }
  return results;
}

/** How rows are inserted in one call of `put`. */
interface Insertion {
  readonly columns: readonly EntryColumn[];
  /** The types whose rows are held. */
  readonly paused: ReadonlySet<string | null>;
}

function noteDelivery(tx: Transaction, receivedAt: number): void {
  tx.run(
    `insert into esim_webhooks_last_delivery (one, received_at) values (1, ?)
    on conflict do update set received_at = max(received_at, excluded.received_at)`,
    receivedAt,
  );
}

/** How many rows a statement inserts. Each statement opens every index, which is a quarter of the work if it inserts one row. */
const mostInserted = 16;

/**
 * Inserts the rows whose keys are new. Returns a function for "was this row inserted?". Call it once for each row, in order: of new rows with
 * the same key, only the first was inserted. `or fail`: a failure undoes the whole transaction, so SQLite need not undo the statement itself.
 */
function insert(
  tx: Transaction,
  rows: readonly PutRow[],
  { columns, paused }: Insertion,
): (row: EventKey) => boolean {
  const parameters: SQLInputValue[] = [];
  for (const row of rows) {
    parameters.push(tx.nowMs, paused.has(row.type) ? 1 : 0);
    for (const { field } of columns) parameters.push(row[field] as SQLInputValue);
  }
  const newRow = `('ready', ?, ?, ${columns.map(() => "?").join()})`; // parameters by name would take a third longer
  const inserted = tx.run(
    `insert or fail into esim_webhooks_event (state, due_at, held, ${columns.map(({ name }) => name).join()})
    values ${Array(rows.length).fill(newRow).join()} on conflict do nothing`,
    ...parameters,
  );
  if (inserted === rows.length) return () => true;
  // each new row got the rowid after the greatest one, so the inserted rows have the greatest ones
  const newest = tx.all<EventKey>(
    `select source, id from esim_webhooks_event
    where rowid > (select max(rowid) from esim_webhooks_event) - ?`,
    inserted,
  );
  const keys = new Set(newest.map(keyOf));
  return (row) => keys.delete(keyOf(row));
}

interface Present {
  /** Whether it is an inline claim. */
  readonly inline: 0 | 1;
  /** Whether its lease has ended. */
  readonly ended: 0 | 1;
  /** The CRC-32 of its body. Null if unknown. */
  readonly fingerprint: number | null;
  readonly rebuilt: 0 | 1;
}

/** Compares an entry with the row of its id. An inline claim whose lease has ended is treated as absent. */
function compare(tx: Transaction, row: PutRow, insertion: Insertion): PutResult {
  const present = tx.get<Present>(
    `select state = 'leased' and body is null as inline, ${hasEnded} as ended, fingerprint,
      coalesce(replay ->> 'rebuilt', 0) as rebuilt
    from esim_webhooks_event where id = $id and source = $source`,
    { now: tx.nowMs, id: row.id, source: row.source },
  );
  if (present === undefined) throw new FaultError(discarded);
  if (present.inline) {
    if (!present.ended) return "busy";
    remove(tx, row);
    if (!insert(tx, [row], insertion)(row)) throw new FaultError(discarded);
    return "stored";
  }
  if (!differs(row, present)) return "already_stored";
  countConflict(tx, row);
  return "conflict";
}

/** Deletes a row that is treated as absent, with all that it kept, so that another can be inserted. */
export function remove(tx: Transaction, { source, id }: EventKey): void {
  tx.run("delete from esim_webhooks_event where id = ? and source = ?", id, source);
}

/**
 * Whether the fingerprints show that the bodies differ. A rebuilt body is compared only with another rebuilt one, since a dump has its own way
 * to write JSON. An unknown fingerprint shows nothing.
 */
function differs(row: PutRow, { fingerprint, rebuilt }: Present): boolean {
  if (fingerprint === null || row.rebuilt !== (rebuilt === 1)) return false;
  return fingerprint !== row["fingerprint"];
}

/** Counts a delivery that had the id of an event, but another body. */
export function countConflict(tx: Transaction, { source, id }: EventKey): void {
  tx.run("update esim_webhooks_event set conflicts = conflicts + 1 where id = ? and source = ?", id, source);
}

/**
 * Done → ready with the new body. Returns for each row whether the event was done and not erased, and the row's run had not made it ready
 * before. `runs` keeps the earlier imports that made it ready.
 */
export function rerun(tx: Transaction, { rows, columns }: PutInput): boolean[] {
  const written = columns.filter(({ name }) => name !== "id" && name !== "source");
  const given = written.map(({ name, field }) => `${name} = $${field}`).join();
  return rows.map((row) => {
    const parameters = Object.fromEntries(columns.map(({ field }) => [field, row[field] as SQLInputValue]));
    const changed = tx.run(
      `update esim_webhooks_event
      set state = 'ready', held = ${isPausedType("$type")}, due_at = $now, kept_until = null, term_ms = 0, tries = 0, suspect = 0,
        error = null, ${given}, taken_at = null, settled_at = null, history = null,
        runs = iif(replay is null, runs, json_insert(coalesce(runs, '[]'), '$[#]', replay ->> 'run'))
      where id = $id and source = $source and state = 'done' and erased_at is null
        and replay ->> 'run' is not $replay ->> 'run'
        and not exists (select 1 from json_each(runs) where value = $replay ->> 'run')`,
      { now: tx.nowMs, ...parameters },
    );
    return changed > 0;
  });
}

function keyOf({ source, id }: EventKey): string {
  return JSON.stringify([source, id]);
}
