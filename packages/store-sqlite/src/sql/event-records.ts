import type { SQLInputValue } from "node:sqlite";
import type { EventKey, Replay } from "@esim-webhooks/core";
import type { EventRecord } from "@esim-webhooks/core/kit";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { isCopied, pageRows } from "./copied-rows.ts";
import { leaseEnded } from "./lease.ts";

const pageBytes = 8 * 1024 * 1024; // of bodies; the last row may exceed it

interface Row extends Omit<EventRecord, "replay" | "runs"> {
  readonly replay: string | null;
  readonly runs: string | null;
}

/** Some records, those behind `after` by their keys. */
export function eventRecords(
  connection: Connection,
  { after }: { readonly after: EventKey | undefined },
): EventRecord[] {
  const rows = connection.prepared(
    `select source, id, iif(state = 'leased', 'ready', state) as state, type, lane, fingerprint,
      received_at as receivedAtMs, occurred_at as occurredAtMs,
      iif(state = 'leased', min(ends_at, $now), ends_at) as endsAtMs, attempts, conflicts,
      iif(state = 'leased', coalesce(error, $leaseEnded), error) as error, replay, runs, body
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
