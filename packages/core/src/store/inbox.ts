import type { InboxAdmin } from "./inbox-admin.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxQueue } from "./inbox-queue.ts";
import type { InboxRole, InboxRoleName } from "./inbox-role.ts";
import type { InboxWriter } from "./inbox-writer.ts";

/** The role of an inbox for imports that run events again. */
export interface Rerunnable extends InboxRole {
  /**
   * Done → ready with the body, lane and `replay` of the entry, due at once, with attempts reset to 0; also if the id was
   * done inline. Answers one to one. True: the event was done, and no `put` or `rerun` with the same `replay.run` had made it
   * ready before. False: the event was in another state, or this run has had it, and nothing changed. So a run works an event
   * again once, however often it calls. Rejects with `invalid_input` for an entry without `replay`.
   */
  rerun(entries: readonly InboxEntry[]): Promise<readonly boolean[]>;
}

/**
 * A durable store of events waiting for a worker, with all roles. One row is the dedupe record and the queue entry.
 *
 * An event goes from ready to leased, and then to done, unhandled or dead, or back to ready at a later time. An operator can
 * make an unhandled or dead event ready, and an import a done one. Each operation is atomic and uses the store's own time.
 * Operations reject with a `WebhookError` of code `store_unavailable` when the store cannot answer.
 */
export interface Inbox<Tx = unknown> extends InboxWriter, InboxQueue<Tx>, InboxAdmin, Rerunnable {}

/** The contract of each role. */
export interface InboxRoles {
  readonly writer: InboxWriter;
  readonly queue: InboxQueue;
  readonly admin: InboxAdmin;
  readonly rerun: Rerunnable;
}

/** Whether the inbox states that it has this role. A bare `{ put }` states no roles. */
export function hasRole<Name extends InboxRoleName>(inbox: object, name: Name): inbox is InboxRoles[Name] {
  const { capabilities } = inbox as Partial<InboxRole>;
  return capabilities?.roles?.includes(name) === true;
}
