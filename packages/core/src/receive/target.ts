import { crc32 } from "node:zlib";
import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import { silentLogger } from "../base/logger.ts";
import type { Deadline } from "../base/waiting.ts";
import type { Parsed } from "../event/catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import { createReceiverProcessor, type ProcessorOptions } from "../process/processor.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { inboxEntry, putEntries } from "../store/inbox.ts";
import type { InboxWriter } from "../store/inbox-writer.ts";
import type { StoredOutcome } from "./outcome.ts";

/** Where accepted events go: to handlers, which run immediately, or to an inbox, for workers. */
// NoInfer around the whole union would hide the event types from completion
export type Target<Data = EsimEvents, Tx = unknown> = NoInfer<Handlers<Data, Tx>> | Pick<InboxWriter, "put">;

/** An authentic delivery, parsed. */
export interface Accepted<Data> {
  readonly parsed: Parsed<Data>;
  readonly id: string;
  readonly body: Uint8Array;
  readonly source: string;
  readonly receivedAt: Date;
  /** The fingerprint of the key that verified it. */
  readonly key: string;
  /** The time by which the delivery must be answered. */
  readonly deadline: Deadline;
}

/** The last step of a receiver. It is synchronous if the handler and the store are; with an inbox, it returns a promise. */
export type Accept<Data> = (accepted: Accepted<Data>) => Awaitable<EventOutcome | StoredOutcome>;

/** Whether a target is an inbox, not a map of handlers: it has `put`. */
export function isInbox(target: unknown): target is Pick<InboxWriter, "put"> {
  return typeof target === "object" && target !== null && "put" in target && typeof target.put === "function";
}

/** The settings that a receiver with handlers passes on to its processor. */
type ProcessorSettings<Data> = Required<
  Pick<ProcessorOptions<Data>, "catalog" | "leaseMs" | "clock" | "logger">
> & {
  readonly store: DedupeStore | undefined;
};

/** Creates the last step, for `target`. Throws `unknown_event_type`, or `invalid_option` for a store together with an inbox. */
export function acceptFor<Data, Tx>(
  target: Target<Data, Tx>,
  { store, ...settings }: ProcessorSettings<Data>,
): Accept<Data> {
  if (!isInbox(target)) {
    const processor = createReceiverProcessor<Data, Tx>(
      target,
      { ...settings, ...(store && { store: store as DedupeStore<Tx> }) },
      silentLogger, // the line of the delivery says what became of the event
    );
    return ({ parsed, body, source, receivedAt, deadline: { controller } }) =>
      processor.accept(parsed, { source, receivedAt, controller, fingerprint: crc32(body) });
  }
  if (store === undefined) return acceptInto(target);
  throw new WebhookError(
    "invalid_option",
    "The options have a store, but the target is an inbox, which deduplicates by itself.",
    "Leave the store out, or pass handlers instead of the inbox.",
  );
}

/** The pause before the next attempt of a delivery whose id a processor is handling, in ms: how long its claim lasts is not known here. */
const busyMs = 5000;

/** Stores unknown, unhandled and invalid events too: the worker decides about them. */
function acceptInto<Data>(inbox: Pick<InboxWriter, "put">): Accept<Data> {
  return async ({ parsed, id, body, source, receivedAt, key }) => {
    try {
      const [code] = await putEntries(inbox, [inboxEntry(parsed, { source, id, body, receivedAt, key })]);
      return code === "busy" ? { code, retryAfterMs: busyMs } : { code: code as StoredOutcome["code"] }; // one entry, so one result
    } catch (error) {
      return { code: "store_unavailable", error };
    }
  };
}
