// What a copy into another inbox reads, in pages: each after the last row of the page before, by the primary key.
import type { SQLInputValue } from "node:sqlite";
import type { EventKey, Replay } from "@esim-webhooks/core";
import type { CopySourceState, EventRecord, LatestRecord, StateRecord } from "@esim-webhooks/core/internal";
import { type Connection, pragma } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { dueAt } from "./filter.ts";
import { hasEnded, leaseEnded, leaseEndedAttempt, withAttempt } from "./lease.ts";

const pageRows = 500;
const pageBytes = 8 * 1024 * 1024; // of bodies; the last row may exceed it

/** Whether a row is copied: SQL. A claim that has ended and has no body is as good as absent. */
const isCopied = `(state <> 'leased' or body is not null and ${hasEnded})`;

/** How many rows a copy reads, and how many are leased. Reads the whole table. */
export function copyCounts(connection: Connection, _: undefined): Omit<CopySourceState, "version"> {
  const counted = connection.get<Omit<CopySourceState, "version">>(
    `select count(*) filter (where ${isCopied}) as events,
      count(*) filter (where state = 'leased' and not ${hasEnded}) as leased
    from esim_webhooks_event`,
    { now: nowMs(connection) },
  );
  return { events: 0, leased: 0, ...counted };
}

/** Changes once any other connection has committed. Only numbers of one connection can be compared. */
export function dataVersion(connection: Connection, _: undefined): number {
  return Number(pragma(connection, "data_version"));
}

interface Row extends Omit<EventRecord, "replay" | "runs"> {
  readonly replay: string | null;
  readonly runs: string | null;
}

/** A page of events. */
export function eventRecords(
  connection: Connection,
  { after }: { readonly after: EventKey | undefined },
): EventRecord[] {
  const rows = connection.prepared(
    `select source, id, iif(state = 'leased', 'ready', state) as state, type, lane, fingerprint,
      received_at as receivedAtMs, occurred_at as occurredAtMs,
      iif(state = 'leased', min(ends_at, $now), ${dueAt}) as endsAtMs, attempts, tries, conflicts,
      iif(state = 'leased', coalesce(error, $leaseEnded), error) as error, replay, runs, body,
      subject, key, trace, taken_at as takenAtMs, settled_at as settledAtMs, erased_at as erasedAtMs,
      iif(state = 'leased', ${withAttempt(leaseEndedAttempt, "min(ends_at, $now)")}, history) as history
    from esim_webhooks_event
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

function recordOf({ replay, runs, ...row }: Row): EventRecord {
  return {
    ...row,
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
