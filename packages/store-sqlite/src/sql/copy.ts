// The reads of a copy into another inbox, in pages. A page begins after the last row of the previous page, by the primary key.
import type { SQLInputValue } from "node:sqlite";
import type { EventKey, Minute, Pause, Replay } from "@esim-webhooks/core";
import type { EventColumn } from "@esim-webhooks/core/engine";
import type { CopySourceState, EventRecord, LatestRecord, StateRecord } from "@esim-webhooks/core/internal";
import { type Connection, pragma } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { hasEnded, leaseEnded, leaseEndedAttempt, withAttempt } from "./lease.ts";
import { minutes, runs } from "./notes.ts";
import { paused } from "./pause.ts";

const pageRows = 500;
const pageBytes = 8 * 1024 * 1024; // of bodies; the last row may exceed it

/** Whether a row is copied: SQL. A row with a live lease is not; an inline claim, which has no body, is treated as absent once its lease has ended. */
const isCopied = `(state <> 'leased' or body is not null and ${hasEnded})`;

/** Counts the rows that a copy reads, and those with a live lease. Reads the whole table. */
export function copyCounts(connection: Connection, _: undefined): Omit<CopySourceState, "version"> {
  const counted = connection.get<Omit<CopySourceState, "version">>(
    `select count(*) filter (where ${isCopied}) as events,
      count(*) filter (where state = 'leased' and not ${hasEnded}) as leased
    from esim_webhooks_event`,
    { now: nowMs(connection) },
  );
  return { events: 0, leased: 0, ...counted };
}

/** Returns a number that changes when another connection has committed. Only numbers of one connection can be compared. */
export function dataVersion(connection: Connection, _: undefined): number {
  return Number(pragma(connection, "data_version"));
}

interface Row extends Omit<EventRecord, "replay" | "runs" | "suspect"> {
  readonly suspect: 0 | 1;
  readonly replay: string | null;
  readonly runs: string | null;
}

/** SQL for the columns of an event whose lease has ended: the values that the next take would write. */
const overdue: Readonly<Record<string, string>> = {
  state: "'ready'",
  due_at: "min(leased_until, $now)",
  error: "coalesce(error, $leaseEnded)",
  history: withAttempt(leaseEndedAttempt, "min(leased_until, $now)"),
};

/** A page of events and handled ids. The name of a time ends in `Ms`, its unit. */
export function eventRecords(
  connection: Connection,
  { columns, after }: { readonly columns: readonly EventColumn[]; readonly after: EventKey | undefined },
): EventRecord[] {
  const read = columns.map(({ name, field, kind }) => {
    const value = overdue[name] === undefined ? name : `iif(state = 'leased', ${overdue[name]}, ${name})`;
    return `${value} as ${kind === "time" ? `${field}Ms` : field}`;
  });
  const rows = connection.prepared(
    `select ${read.join()}, runs, suspect or state = 'leased' as suspect from esim_webhooks_event
    where ${isCopied} ${after === undefined ? "" : "and (id, source) > ($id, $source)"}
    order by id, source limit ${pageRows}`,
  );
  const parameters: Record<string, SQLInputValue> = {
    now: nowMs(connection),
    leaseEnded,
    ...(after && { id: after.id, source: after.source }),
  };
  const records: EventRecord[] = [];
  let bytes = 0;
  for (const row of rows.iterate(parameters) as Iterable<unknown> as Iterable<Row>) {
    records.push(recordOf(row));
    bytes += row.body?.byteLength ?? 0;
    if (bytes >= pageBytes) break;
  }
  return records;
}

function recordOf({ replay, runs, suspect, ...row }: Row): EventRecord {
  return {
    ...row,
    suspect: suspect === 1,
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
    runs: runs === null ? [] : (JSON.parse(runs) as string[]),
  };
}

/** A page of how far `latestOnly` has come for each subject. */
export function latestRecords(
  connection: Connection,
  { after }: { readonly after: LatestRecord | undefined },
): LatestRecord[] {
  return connection.all<LatestRecord>(
    `select family, subject, occurred_at as occurredAtMs from esim_webhooks_latest
    where ${after === undefined ? "true" : "(family, subject) > (?, ?)"} order by family, subject limit ${pageRows}`,
    ...(after === undefined ? [] : [after.family, after.subject]),
  );
}

/** A page of small states. */
export function stateRecords(
  connection: Connection,
  { after }: { readonly after: StateRecord | undefined },
): StateRecord[] {
  return connection.all<StateRecord>(
    `select name, value from esim_webhooks_state where name > ? order by name limit ${pageRows}`,
    after?.name ?? "", // no name is empty
  );
}

/** The parts that a copy does not read in pages. The notes of runs are JSON. */
export interface OperatorNotes {
  readonly pauses: readonly Pause[];
  readonly runs: readonly string[];
  readonly minutes: readonly Minute[];
  readonly lastReceivedAt: number | null;
}

/** The pauses, and the notes for operators. */
export function operatorNotes(connection: Connection, _: undefined): OperatorNotes {
  const last = connection.get<{ received_at: number }>("select received_at from esim_webhooks_last_delivery");
  return {
    pauses: paused(connection, undefined),
    runs: runs(connection, undefined),
    minutes: minutes(connection, undefined),
    lastReceivedAt: last?.received_at ?? null,
  };
}
