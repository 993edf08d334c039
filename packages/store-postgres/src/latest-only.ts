import { discard, type Handler, type WebhookEvent } from "@esim-webhooks/core";
import { sql, type Transaction } from "kysely";
import { tablesIn } from "./database/tables.ts";

export interface LatestOnlyOptions<Event> {
  /** What the state is kept of. Default: the event's `esimReference`. */
  subject?: (event: Event) => string;
  /** Which events change the same state. Default: all but the last part of the type, `esim.lifecycle` for one. */
  family?: (event: Event) => string;
  /** The schema of the store or inbox. Default `"esim_webhooks"`. */
  schema?: string;
}

/**
 * For a handler that keeps the present state of each eSIM: skips an event that is older than the newest one of its family
 * already worked for that eSIM, since the sender gives no order. How far it has come commits together with what the
 * handler writes by `context.tx`, and two events of one eSIM wait for each other.
 */
export function latestOnly<Event extends WebhookEvent<string, unknown>, Database>(
  handler: Handler<Event, Transaction<Database>>,
  options: LatestOnlyOptions<Event> = {},
): Handler<Event, Transaction<Database>> {
  const { subject = esimOf, family = familyOf, schema } = options;
  const { latest } = tablesIn(schema ?? "esim_webhooks");
  return async (event, context) => {
    const { rows } = await sql`
      insert into ${latest} (family, subject, occurred_at)
      values (${family(event)}, ${subject(event)}, ${event.timestamp}::timestamptz)
      on conflict (family, subject) do update set occurred_at = excluded.occurred_at
      where latest.occurred_at <= excluded.occurred_at
      returning 1`.execute(context.tx);
    return rows.length === 0 ? discard("older than what was worked before") : handler(event, context);
  };
}

function esimOf({ data }: WebhookEvent<string, unknown>): string {
  return String((data as { esimReference?: unknown }).esimReference);
}

function familyOf({ type }: WebhookEvent<string, unknown>): string {
  return type.slice(0, type.lastIndexOf("."));
}
