import type { EsimData, EsimEvents, Handler, Handlers, WebhookEvent } from "@esim-webhooks/core";
import { occurredAtMs } from "@esim-webhooks/core/engine";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";

/** Each group of columns begins with the time of the event that it is from: ms since 1970, with microseconds. */
export const esimTable = `create table if not exists esim (
  reference text primary key,
  lifecycle_at real, lifecycle text,
  network_at real, country text, mcc text, mnc text,
  balance_at real, balance integer, currency text
)`;

/**
 * A handler that writes its event into a group of columns, unless a later event is there. Of two events at the same time, the
 * greater values win ("terminated" over "active"), so every order of arrival ends in the same row.
 *
 * `latestOnly` is not enough for that: it runs both of two events at the same time, and the one that arrives last wins.
 */
function keepLatest<Data extends EsimData>(
  columns: readonly [time: string, ...values: string[]],
  valuesOf: (data: Data) => readonly (string | number)[], // no null, which the comparison could not order
): Handler<WebhookEvent<string, Data>, SqliteTransaction> {
  const inRow = columns.join(", ");
  const inEvent = columns.map((column) => `excluded.${column}`).join(", ");
  const sql = `insert into esim (reference, ${inRow}) values (?, ${columns.map(() => "?").join(", ")})
    on conflict (reference) do update set (${inRow}) = (${inEvent})
    where ${columns[0]} is null or (${inEvent}) > (${inRow})`;
  return (event, { tx, receivedAt }) => {
    const time = occurredAtMs({ event, receivedAt }); // a number, because timestamps may have different offsets
    tx.write({ sql, parameters: [event.data.esimReference, time, ...valuesOf(event.data)] });
  };
}

const lifecycle = keepLatest<EsimData & { readonly lifecycleStatus: string }>(
  ["lifecycle_at", "lifecycle"],
  ({ lifecycleStatus }) => [lifecycleStatus],
);

export const handlers: Handlers<EsimEvents, SqliteTransaction> = {
  "esim.lifecycle.suspended": lifecycle,
  "esim.lifecycle.activated": lifecycle,
  "esim.lifecycle.terminated": lifecycle,
  "esim.mccswitch": keepLatest(
    ["network_at", "country", "mcc", "mnc"],
    ({ newCountry = "", newMcc, newMnc = "" }) => [newCountry, String(newMcc), String(newMnc)],
  ),
  "esim.balance.updated": keepLatest(["balance_at", "balance", "currency"], ({ balanceAfter, currency }) => [
    balanceAfter,
    currency,
  ]),
};
