import type { Handler, WebhookEvent } from "@esim-webhooks/core";
import { erasedSubject, type LatestOnlySettings, latestOnlyHandler } from "@esim-webhooks/core/engine";
import { sql } from "kysely";
import { tablesIn } from "./database/tables.ts";
import { kyselyOf } from "./database/transaction-form.ts";

/** Options of `latestOnly`. */
export interface LatestOnlyOptions<Event> extends LatestOnlySettings<Event> {
  /** The schema of the store or inbox. Default `"esim_webhooks"`. */
  schema?: string;
}

/**
 * For a handler that only stores the current state of each eSIM, never for one with an effect. The sender guarantees no order, so
 * this skips an event that is older than the newest one handled for the same state and eSIM. It records the time of the newest one
 * through `context.tx`, in the transaction of the handler's writes, and two events of one eSIM wait for each other. Takes `context.tx` in
 * every form that the `tx` option can give it. Throws `invalid_option`. A receiver or worker refuses `latestOnly` for `esim.faulted`
 * (`invalid_option`).
 */
export function latestOnly<Event extends WebhookEvent<string, unknown>, Tx extends object>(
  options: LatestOnlyOptions<Event>,
  handler: Handler<Event, Tx>,
): Handler<Event, Tx> {
  const { schema, ...settings } = options;
  const { latest } = tablesIn(schema ?? "esim_webhooks");
  return latestOnlyHandler(settings, handler, async ({ state, subject }, event, { tx }) => {
    const { rows } = await sql`
      insert into ${latest} (family, subject, occurred_at)
      select new.* from (values (${state}, ${subject}, ${event.timestamp}::text::timestamptz)) as new (family, subject, occurred_at)
      where not exists (
        select from ${latest} as erased
        where erased.family = new.family and erased.subject = ${erasedSubject(subject)} and erased.occurred_at > new.occurred_at
      )
      on conflict (family, subject) do update set occurred_at = excluded.occurred_at
      where latest.occurred_at <= excluded.occurred_at
      returning 1`.execute(kyselyOf(tx));
    return rows.length > 0;
  });
}
