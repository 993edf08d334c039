import { addAbortListener } from "node:events";
import {
  type InboxEntry,
  type InboxWriter,
  type PutResult,
  type Replay,
  type Rerunnable,
  WebhookError,
} from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import { hasRole, inboxEntry, putEntries } from "@esim-webhooks/core/internal";
import type { ReadEvent } from "../record/checks.ts";
import type { Fields, RecordedEvent } from "../record/recorded-event.ts";
import type { ReplaySettings } from "./options.ts";
import type { AcceptedEvent, Sink, Verdict } from "./sink.ts";

export interface IntoInbox extends Pick<ReplaySettings, "source" | "force" | "clock" | "logger" | "signal"> {
  readonly readEvent: (event: RecordedEvent) => ReadEvent;
}

const verdicts: Readonly<Record<PutResult, Verdict>> = {
  stored: { fate: "stored" },
  already_stored: { fate: "duplicate" },
  conflict: { fate: "conflict", code: "conflict", reason: "its id is stored with another body, which stays" },
  busy: { fate: "rejected", code: "busy", reason: "a receiver is handling its id" },
};
const forced: Verdict = { fate: "stored", isForced: true };

/** The default lease of a receiver's claim, and some time for the clocks. */
const claimMs = 31_000;

/** A sink that stores events as a receiver does: unknown, unhandled and invalid ones too. Throws `invalid_option` if the inbox cannot `force`. */
export function intoInbox(
  inbox: Pick<InboxWriter, "put">,
  options: IntoInbox,
): (run: string) => Sink<InboxEntry> {
  const { source, force, clock, logger, signal, readEvent } = options;
  const rerun = force ? rerunOf(inbox) : undefined;

  function entryOf(dumped: AcceptedEvent, run: string): InboxEntry {
    const { id, payload, body, delivery, request } = dumped;
    return inboxEntry(readEvent(dumped), {
      source,
      id,
      body: body ?? Buffer.from(JSON.stringify(payload), "utf8"),
      receivedAt: request?.receivedAt ?? new Date(clock.now()),
      replay: { run, rebuilt: body === null, ...(delivery && { delivery: provenanceOf(delivery) }) },
    });
  }

  /** Stores entries. If a receiver on the same tables handles some of them inline, waits once until the receiver's claims have ended. */
  async function store(entries: readonly InboxEntry[], run: string): Promise<readonly PutResult[]> {
    const results = await putEntries(inbox, entries);
    const busy = entries.filter((_, index) => results[index] === "busy");
    if (busy.length === 0) return results;
    logger.info(
      { events: busy.length, source, run, waitMs: claimMs },
      "A receiver is handling some of these events: the import waits for it.",
    );
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const listener = signal && addAbortListener(signal, () => stop());
    await createDeadline(claimMs).before(stopped);
    listener?.[Symbol.dispose]();
    signal?.throwIfAborted(); // the next run gets these entries again
    const later = new Map((await putEntries(inbox, busy)).map((result, index) => [busy[index], result]));
    return entries.map((entry, index) => later.get(entry) ?? (results[index] as PutResult));
  }

  /** With `force`, makes done events ready again. Resolves to their entries. */
  async function runAgain(
    entries: readonly InboxEntry[],
    results: readonly PutResult[],
    run: string,
  ): Promise<ReadonlySet<InboxEntry>> {
    const known = entries.filter((_, index) => results[index] === "already_stored");
    if (rerun === undefined || known.length === 0) return new Set();
    const answers = await rerun(known);
    const again = known.filter((_, index) => answers[index]);
    for (const { id, type } of again) logger.info({ id, type, source, run }, "A done event is run again.");
    return new Set(again);
  }

  return (run) => ({
    batchSize: 2000, // one transaction in SQLite per batch: with batches of 350, random ids make it write twice as many pages for each event
    atOnce: 2,
    mayRefuse: true,
    prepare(event) {
      const item = entryOf(event, run);
      return { item, bytes: item.body.byteLength };
    },
    async take(entries) {
      const results = await store(entries, run);
      const again = await runAgain(entries, results, run);
      return entries.map((entry, index) =>
        again.has(entry) ? forced : verdicts[results[index] ?? "stored"],
      );
    },
  });
}

function rerunOf(inbox: Pick<InboxWriter, "put">): Rerunnable["rerun"] {
  if (hasRole(inbox, "rerun")) return (entries) => inbox.rerun(entries);
  throw new WebhookError(
    "invalid_option",
    'force needs a target that can run events again, and this inbox does not have the role "rerun".',
    "Leave force out, or pass an inbox with that role, such as sqliteInbox(…) or postgresInbox(…).",
  );
}

const kept = [
  "eventType",
  "status",
  "attemptNumber",
  "httpStatus",
  "nextRetryAt",
  "sentAt",
  "deliveredAt",
] as const;
const longestText = 256;

/** The fields of a delivery that an inbox keeps. `responseBody` is not one: it is the endpoint's own answer. */
function provenanceOf(record: Fields): NonNullable<Replay["delivery"]> {
  const provenance: Record<string, string | number | null> = {};
  for (const name of kept) {
    const value = storable(record[name]);
    if (value !== undefined) provenance[name] = value;
  }
  return provenance;
}

function storable(value: unknown): string | number | null | undefined {
  if (value === null || value === "") return null; // CSV has no null
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  return value.slice(0, longestText).toWellFormed().replaceAll("\0", "\uFFFD"); // jsonb accepts neither lone surrogates nor \0
}
