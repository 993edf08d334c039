import { WebhookError } from "../base/errors.ts";
import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import { currentTrace } from "../base/tracer.ts";
import type { EventKey } from "../event/event.ts";
import type { InboxAdmin } from "./inbox-admin.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxQueue } from "./inbox-queue.ts";
import type { InboxRole, InboxRoleName } from "./inbox-role.ts";
import type { InboxWriter, PutResult } from "./inbox-writer.ts";

/** The role of an inbox for imports that run done events again (`force`). */
export interface Rerunnable extends InboxRole {
  /**
   * Done → ready with the body, lane and `replay` of the entry, due immediately, with the count towards `maxAttempts` at 0 again; also if the id
   * was done inline. Answers one to one. True: the event was done, and no `put` or `rerun` with the same `replay.run` had made it ready before.
   * False: the event was in another state or erased, or this run has had it, and nothing changed. So each run makes an event ready only once, even if it
   * calls again. Rejects with `invalid_input` for an entry without `replay`.
   */
  rerun(entries: readonly InboxEntry[]): Promise<readonly boolean[]>;
}

/**
 * A durable store of events waiting for a worker, with all roles. One row is the dedupe record and the queue entry.
 *
 * An event goes from ready to leased, and then to done, unhandled or dead, or back to ready at a later time. An operator can make an
 * unhandled or dead event ready, or a ready one dead, and an import a done one ready. Each operation is atomic and uses the store's own time.
 * Operations reject with a `WebhookError` of code `store_unavailable` when the store cannot answer.
 */
export interface Inbox<Tx = unknown> extends InboxWriter, InboxQueue<Tx>, InboxAdmin, Rerunnable {}

/** The contract of each role. */
export interface InboxRoles {
  /** The methods with which a receiver or an import stores events. */
  readonly writer: InboxWriter;
  /** The methods with which a worker takes and settles events. */
  readonly queue: InboxQueue;
  /** The methods with which an operator looks at events and changes them. */
  readonly admin: InboxAdmin;
  /** The method with which an import with `force` runs done events again. */
  readonly rerun: Rerunnable;
}

/** Whether the inbox says that it has this role: `capabilities.roles`. A bare `{ put }` has none. */
export function hasRole<Name extends InboxRoleName>(inbox: object, name: Name): inbox is InboxRoles[Name] {
  const { capabilities } = inbox as Partial<InboxRole>;
  return capabilities?.roles?.includes(name) === true;
}

/** Makes an entry of an event that the catalog has parsed. `type` and `event` may be null: invalid events are stored too. */
export function inboxEntry(
  { type, event }: Pick<InboxEntry, "type" | "event">,
  { source, id, body, receivedAt, replay, key }: Omit<InboxEntry, "type" | "event" | "trace">,
): InboxEntry {
  return {
    source,
    id,
    type,
    event,
    body,
    receivedAt,
    ...(replay && { replay }),
    ...(key !== undefined && { key }),
  };
}

/** A call of an inbox's `put` by a receiver or an import, on `tracing:esim-webhooks:put:*`. */
export interface PutMessage extends StageMessage {
  /** The events to store. The type is null if the body is not an envelope. */
  readonly events: readonly (EventKey & { readonly type: string | null })[];
  /** The inbox's results, in the order of `events`. Absent if it could not store them. */
  readonly results?: readonly PutResult[];
  /** Whether the inbox answered. `results` says what it stored. */
  readonly outcome: "put" | "store_unavailable";
}

export const putStage: Stage<PutMessage, "results"> = createStage("put", "store_unavailable");

const results: ReadonlySet<unknown> = new Set<PutResult>(["stored", "already_stored", "conflict", "busy"]);

async function putAndCheck(
  inbox: Pick<InboxWriter, "put">,
  entries: readonly InboxEntry[],
): Promise<readonly PutResult[]> {
  const trace = currentTrace();
  const traced = trace === undefined ? entries : entries.map((entry) => ({ trace, ...entry }));
  const answer: unknown = await inbox.put(traced);
  if (Array.isArray(answer) && answer.length === entries.length && answer.every((one) => results.has(one))) {
    return answer;
  }
  throw new WebhookError(
    "invalid_option",
    "The inbox's put() did not answer with one PutResult for each entry.",
    "Return an array with one result per entry, in order.",
  );
}

/** Calls the inbox's `put` and checks its answer. Rejects as `put` does, and with `invalid_option` unless the answer is one result per entry. */
export const putEntries: (
  inbox: Pick<InboxWriter, "put">,
  entries: readonly InboxEntry[],
) => Promise<readonly PutResult[]> = putStage.around(
  putAndCheck,
  (_, entries) => ({ events: entries.map(({ source, id, type }) => ({ source, id, type })) }),
  (results) => ({ outcome: "put", results }),
);
