import type { Transaction } from "./transaction.ts";

/**
 * Makes the commit of a transaction sync, though nothing else is changed in it. Of a rollback journal only a commit syncs that it
 * is gone, and one that has changed no page does nothing. Fails where an event could not be stored, as on a full disk. The tables
 * must be there.
 */
export function changeSomething(tx: Transaction): void {
  tx.run("insert into esim_webhooks_migration (number, id, applied_at) values (0, '', 0)");
  tx.run("delete from esim_webhooks_migration where number = 0");
}
