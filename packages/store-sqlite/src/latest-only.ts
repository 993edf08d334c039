import type { Handler, WebhookEvent } from "@esim-webhooks/core";
import { erasedSubject, occurredAtMs } from "@esim-webhooks/core/kit";
import type { SqliteTransaction } from "./transact.ts";

/** Options of `latestOnly`. */
export interface LatestOnlyOptions<Event> {
  /** The subject whose state the handler stores. An event without one is never skipped. Default: the event's `esimReference`. */
  subject?: (event: Event) => string | undefined;
  /** Groups the events that change the same state. Default: the type without its last part, such as `esim.lifecycle`. */
  family?: (event: Event) => string;
}

/**
 * For a handler that keeps the present state of each eSIM: skips an event that is older than the newest one of its family
 * already worked for that eSIM, since the sender gives no order. How far it has come commits together with what the handler
 * writes by `context.tx`. Of two events of one eSIM that are worked at the same time, the older one that comes too late
 * fails, is tried again, and is skipped then.
 */
export function latestOnly<Event extends WebhookEvent<string, unknown>>(
  handler: Handler<Event, SqliteTransaction>,
  options: LatestOnlyOptions<Event> = {},
): Handler<Event, SqliteTransaction> {
  const { subject = esimOf, family = familyOf } = options;
  return async (event, context) => {
    const { tx, receivedAt } = context;
    const about = subject(event);
    if (about === undefined) return handler(event, context);
    const key = { family: family(event), subject: about, erased: erasedSubject(about) };
    const occurredAt = occurredAtMs({ event, receivedAt }) ?? 0;
    const [latest] = await tx.read(`select 1 ${later}`, [key.family, key.subject, key.erased, occurredAt]);
    if (latest !== undefined) return context.discard("older than what was worked before");
    tx.write(
      {
        sql: `insert into esim_webhooks_latest (family, subject, occurred_at)
          select ?, ?, ? where not exists (select 1 ${later})
          on conflict (family, subject) do update set occurred_at = excluded.occurred_at`,
        parameters: [
          ...[key.family, key.subject, occurredAt],
          ...[key.family, key.subject, key.erased, occurredAt],
        ],
      },
      { changes: 1 },
    );
    return handler(event, context);
  };
}

/** The entry of a later event, perhaps of one whose personal data was erased since: SQL. */
const later = "from esim_webhooks_latest where family = ? and subject in (?, ?) and occurred_at > ?";

function esimOf({ data }: WebhookEvent<string, unknown>): string | undefined {
  const { esimReference } = data as { readonly esimReference?: unknown };
  return typeof esimReference === "string" ? esimReference : undefined;
}

function familyOf({ type }: WebhookEvent<string, unknown>): string {
  return type.slice(0, type.lastIndexOf("."));
}
