import type { InboxAdmin } from "./inbox-admin.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxQueue } from "./inbox-queue.ts";
import type { InboxRole, InboxRoleName } from "./inbox-role.ts";
import type { InboxWriter } from "./inbox-writer.ts";

/** The role of an inbox that imports call to run events again. */
export interface Rerunnable extends InboxRole {
  /**
   * Done → ready with the body, lane and `replay` of the entry: due at once, its attempts counted anew, also where the id
   * was done inline. One to one: true for an event that was done and that no `put` or `rerun` of the same `replay.run` had
   * made ready before. False for any other, absent, ready, leased, unhandled or dead, and nothing has changed. So an import
   * runs an event again once, however often it is asked. Rejects with `invalid_input` for an entry without `replay`.
   */
  rerun(entries: readonly InboxEntry[]): Promise<readonly boolean[]>;
}

/**
 * A durable store of events waiting for a worker, with all roles. One row is the dedupe record and the queue entry.
 *
 * An event is ready → leased → done, or ready again at a later time, or unhandled, or dead; an operator makes an unhandled
 * or dead one ready, and an import that is told to a done one. Each operation is atomic, time is the store's own, and every
 * operation rejects with a `WebhookError` of code `store_unavailable` when the store cannot answer.
 */
export interface Inbox<Tx = unknown> extends InboxWriter, InboxQueue<Tx>, InboxAdmin, Rerunnable {}

/** The contract of each role, by its name. */
export interface InboxRoles {
  readonly writer: InboxWriter;
  readonly queue: InboxQueue;
  readonly admin: InboxAdmin;
  readonly rerun: Rerunnable;
}

/** Whether an inbox says that it has this role. One that is `{ put }` alone says nothing, and has none of the others. */
export function hasRole<Name extends InboxRoleName>(inbox: object, name: Name): inbox is InboxRoles[Name] {
  const { capabilities } = inbox as Partial<InboxRole>;
  return capabilities?.roles?.includes(name) === true;
}
