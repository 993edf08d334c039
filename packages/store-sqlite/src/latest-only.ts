import type { Handler, WebhookEvent } from "@esim-webhooks/core";
import {
  erasedSubject,
  type LatestOnlySettings,
  latestOnlyHandler,
  occurredAtMs,
} from "@esim-webhooks/core/engine";
import type { SqliteTransaction } from "./transact.ts";

/** Options of `latestOnly`. */
export type LatestOnlyOptions<Event> = LatestOnlySettings<Event>;

/**
 * For a handler that only stores the current state of each eSIM, never for one with an effect: skips an event that is older than
 * the newest one handled for the same state and eSIM, since the sender gives no order. The time of the newest one commits together with
 * what the handler writes by `context.tx`. If two events of one eSIM are handled at the same time and the newer one commits first, the
 * older one fails, is tried again, and is then skipped. Throws `invalid_option`. A receiver or worker refuses `latestOnly` for
 * `esim.faulted` (`invalid_option`).
 */
export function latestOnly<Event extends WebhookEvent<string, unknown>>(
  options: LatestOnlyOptions<Event>,
  handler: Handler<Event, SqliteTransaction>,
): Handler<Event, SqliteTransaction> {
  return latestOnlyHandler(options, handler, async ({ state, subject }, event, { tx, receivedAt }) => {
    const key = [state, subject, erasedSubject(subject)];
    const occurredAt = occurredAtMs({ event, receivedAt }) ?? 0;
    const [latest] = await tx.read(`select 1 ${later}`, [...key, occurredAt]);
    if (latest !== undefined) return false;
    tx.write(
      {
        sql: `insert into esim_webhooks_latest (family, subject, occurred_at)
          select ?, ?, ? where not exists (select 1 ${later})
          on conflict (family, subject) do update set occurred_at = excluded.occurred_at`,
        parameters: [state, subject, occurredAt, ...key, occurredAt],
      },
      { changes: 1 },
    );
    return true;
  });
}

/** SQL for the entry of a later event of the same eSIM, which has another subject if personal data was erased since. */
const later = "from esim_webhooks_latest where family = ? and subject in (?, ?) and occurred_at > ?";
