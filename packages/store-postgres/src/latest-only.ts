import type { Handler, WebhookEvent } from "@esim-webhooks/core";
import { erasedSubject } from "@esim-webhooks/core/kit";
import { sql } from "kysely";
import { tablesIn } from "./database/tables.ts";
import { kyselyOf } from "./database/transaction-form.ts";

/** Options of `latestOnly`. */
export interface LatestOnlyOptions<Event> {
  /** The subject whose state the handler stores. An event without one is never skipped. Default: the event's `esimReference`. */
  subject?: (event: Event) => string | undefined;
  /** Groups the events that change the same state. Default: the type without its last part, such as `esim.lifecycle`. */
  family?: (event: Event) => string;
  /** The schema of the store or inbox. Default `"esim_webhooks"`. */
  schema?: string;
}

/**
 * For a handler that stores the current state of each eSIM. The sender guarantees no order, so this skips an event that is
 * older than the newest one of its family already worked for that eSIM. It records that time through `context.tx`, in the
 * transaction of the handler's writes, and two events of one eSIM wait for each other. Takes `context.tx` in every form that the `tx`
 * option can give it.
 */
export function latestOnly<Event extends WebhookEvent<string, unknown>, Tx extends object>(
  handler: Handler<Event, Tx>,
  options: LatestOnlyOptions<Event> = {},
): Handler<Event, Tx> {
  const { subject = esimOf, family = familyOf, schema } = options;
  const { latest } = tablesIn(schema ?? "esim_webhooks");
  return async (event, context) => {
    const about = subject(event);
    if (about === undefined) return handler(event, context);
    const { rows } = await sql`
      insert into ${latest} (family, subject, occurred_at)
      select new.* from (values (${family(event)}, ${about}, ${event.timestamp}::timestamptz)) as new (family, subject, occurred_at)
      where not exists (
        select from ${latest} as erased
        where erased.family = new.family and erased.subject = ${erasedSubject(about)} and erased.occurred_at > new.occurred_at
      )
      on conflict (family, subject) do update set occurred_at = excluded.occurred_at
      where latest.occurred_at <= excluded.occurred_at
      returning 1`.execute(kyselyOf(context.tx));
    return rows.length === 0 ? context.discard("older than what was worked before") : handler(event, context);
  };
}

function esimOf({ data }: WebhookEvent<string, unknown>): string | undefined {
  const { esimReference } = data as { readonly esimReference?: unknown };
  return typeof esimReference === "string" ? esimReference : undefined;
}

function familyOf({ type }: WebhookEvent<string, unknown>): string {
  return type.slice(0, type.lastIndexOf("."));
}
