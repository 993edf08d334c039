import { createHash } from "node:crypto";
import { WebhookError } from "../base/errors.ts";
import { pageOf } from "../base/pages.ts";
import type { InboxAdmin } from "./inbox-admin.ts";
import type { InboxState } from "./stored-event.ts";

/** The result of `eraseSubject`. */
export interface ErasedSubject {
  /** The number of erased events, by the state that they were in. All of them are done now. */
  readonly events: Readonly<Record<InboxState, number>>;
  /** Other places that may hold the subject's personal data and that an inbox cannot reach, one sentence each. */
  readonly notReached: readonly string[];
}

/** The `error` of an event whose personal data was erased. */
export const erasedError = "erased";

const notReached: readonly string[] = [
  `Old versions of the data in the database's own files, statistics, logs and replicas, until those are rewritten: see ${pageOf("docs/personal-data.md")}.`,
  "Backups and copies of the inbox.",
  "Events that were stored before the upgrade to this version, since they have no subject.",
  "The progress of latestOnly with a subject option of its own.",
  "Files of imports: dumps, rejects files and checkpoints.",
  "Logs, traces and metrics of your own systems.",
  "Messages of SQS and Cloudflare Queues, and ids in DynamoDB and Durable Objects.",
  "Your own tables, which your handlers write.",
  "The service's deliveries listing, which keeps deliveries for 7 days.",
];

const mostCalls = 10_000; // each erases up to 1,000 events

/**
 * Erases the personal data of all events of one eSIM: see `InboxAdmin.erase`. `reference` is its `esimReference`. It can be repeated, and
 * continues after an interruption. Events that are stored later are not erased. Rejects with `invalid_input` without a reference, or if
 * call 10,000 of `erase` still finds events, and as `erase` does.
 */
export async function eraseSubject(
  inbox: Pick<InboxAdmin, "erase">,
  reference: string,
): Promise<ErasedSubject> {
  if (typeof reference !== "string" || reference === "") {
    throw new WebhookError(
      "invalid_input",
      "eraseSubject got no reference.",
      "Pass the esimReference of the eSIM whose data to erase.",
    );
  }
  const events = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  for (let calls = 0; calls < mostCalls; calls += 1) {
    const erased = await inbox.erase(reference);
    const found = Object.entries(erased) as [InboxState, number][];
    for (const [state, count] of found) events[state] += count;
    if (found.every(([, count]) => count === 0)) return { events, notReached };
  }
  throw new WebhookError(
    "invalid_input",
    `eraseSubject still found events of this reference in call ${mostCalls} of the inbox's erase().`,
    "Stop what stores new events of the eSIM, and call eraseSubject again. If the inbox is your own, erase() must not find events again that it has erased.",
  );
}

/**
 * Counts the events that `eraseSubject` would erase, for each state. A count of `most` means `most` or more. Resolves to null if the inbox
 * cannot filter by subject (`capabilities.filters`): it finds these events only while it erases them.
 */
export async function countSubject(
  inbox: Pick<InboxAdmin, "capabilities" | "count">,
  subject: string,
  most: number,
): Promise<ErasedSubject["events"] | null> {
  if (inbox.capabilities.filters !== undefined) return null;
  const states = ["ready", "leased", "done", "unhandled", "dead"] as const;
  const counts = states.map(async (state) => [state, await inbox.count({ subject, state }, most)]);
  return Object.fromEntries(await Promise.all(counts)) as ErasedSubject["events"];
}

/**
 * For authors of inboxes: returns a text that replaces the subject in an entry that must not be deleted, such as the progress of `latestOnly`.
 * The same subject always gives the same text, which does not contain it.
 */
export function erasedSubject(subject: string): string {
  return `erased:${createHash("sha256").update(subject).digest("hex")}`;
}
