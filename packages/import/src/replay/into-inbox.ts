import {
  type Inbox,
  type InboxEntry,
  type InboxWriter,
  type Parsed,
  type PutResult,
  WebhookError,
} from "@esim-webhooks/core";
import { inboxEntry, putEntries } from "@esim-webhooks/core/kit";
import { provenanceOf } from "../record/delivery-record.ts";
import type { DumpedEvent } from "../record/dumped-event.ts";
import type { ReplaySettings } from "./replay-options.ts";
import type { OpenSink, ProvenEvent, Verdict } from "./sink.ts";

export interface IntoInbox extends Pick<ReplaySettings, "source" | "force" | "clock" | "logger"> {
  readonly readEvent: (event: DumpedEvent) => Parsed<Record<string, unknown>>;
}

const verdicts: Readonly<Record<PutResult, Verdict>> = {
  stored: { fate: "stored" },
  duplicate: { fate: "duplicate" },
  conflict: { fate: "conflict" },
};
const forced: Verdict = { fate: "stored", isForced: true };

/** Stores events, as a receiver does: unknown, unhandled and invalid ones too. Throws `invalid_option`. */
export function intoInbox(inbox: Pick<InboxWriter, "put">, options: IntoInbox): OpenSink<InboxEntry> {
  const { source, force, clock, logger, readEvent } = options;
  const rerun = force ? rerunOf(inbox) : undefined;

  function entryOf(dumped: ProvenEvent, run: string): InboxEntry {
    const { id, payload, body, delivery, request } = dumped;
    return inboxEntry(readEvent(dumped), {
      source,
      id,
      body: body ?? Buffer.from(JSON.stringify(payload), "utf8"),
      receivedAt: request?.receivedAt ?? new Date(clock.now()),
      replay: { run, rebuilt: body === null, ...(delivery && { delivery: provenanceOf(delivery) }) },
    });
  }

  /** What is done already, run again. */
  async function runAgain(
    entries: readonly InboxEntry[],
    results: readonly PutResult[],
    run: string,
  ): Promise<ReadonlySet<InboxEntry>> {
    const known = entries.filter((_, index) => results[index] === "duplicate");
    if (rerun === undefined || known.length === 0) return new Set();
    const answers = await rerun(known);
    const again = known.filter((_, index) => answers[index]);
    for (const { id, type } of again)
      logger.info({ id, type, source, run }, "An event that was done is run again.");
    return new Set(again);
  }

  return (run) => ({
    batchSize: 350, // more would be faster, and take memory in proportion
    atOnce: 2,
    mayReject: false,
    prepare(event) {
      const item = entryOf(event, run);
      return { item, bytes: item.body.byteLength };
    },
    async take(entries) {
      const results = await putEntries(inbox, entries);
      const again = await runAgain(entries, results, run);
      return entries.map((entry, index) =>
        again.has(entry) ? forced : verdicts[results[index] ?? "stored"],
      );
    },
  });
}

function rerunOf(inbox: Pick<InboxWriter, "put">): Inbox["rerun"] {
  if ("rerun" in inbox && typeof inbox.rerun === "function") return inbox.rerun.bind(inbox) as Inbox["rerun"];
  throw new WebhookError(
    "invalid_option",
    "This target cannot run events again, so there is no force with it.",
    "Leave force out, or pass an inbox with rerun(), such as postgresInbox(…).",
  );
}
