import { crc32 } from "node:zlib";
import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, warnOfSetup } from "../base/logger.ts";
import type { Parsed } from "../event/catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import { createProcessor, type ProcessorOptions } from "../process/processor.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { inboxEntry, putEntries } from "../store/inbox.ts";
import type { InboxWriter, PutResult } from "../store/inbox-writer.ts";
import type { StoredOutcome } from "./outcome.ts";

/** Where accepted events go: to handlers, which run at once, or to an inbox, to be worked later. */
// NoInfer around the whole union would hide the event types from completion
export type Target<Data = EsimEvents, Tx = unknown> = NoInfer<Handlers<Data, Tx>> | Pick<InboxWriter, "put">;

/** An authentic delivery, parsed. */
export interface Accepted<Data> {
  readonly parsed: Parsed<Data>;
  readonly id: string;
  readonly body: Uint8Array;
  readonly source: string;
  readonly receivedAt: Date;
  /** Aborts at the deadline of the answer. */
  readonly signal: AbortSignal;
}

/** The one way out of a receiver. Answers at once, if handler and store do. */
export type Accept<Data> = (accepted: Accepted<Data>) => Awaitable<EventOutcome | StoredOutcome>;

export function isInbox(target: unknown): target is Pick<InboxWriter, "put"> {
  return typeof target === "object" && target !== null && "put" in target && typeof target.put === "function";
}

/** What a receiver with handlers passes on to its processor. */
type ProcessorSettings<Data> = Required<
  Pick<ProcessorOptions<Data>, "catalog" | "leaseMs" | "clock" | "logger">
> & {
  readonly store: DedupeStore | undefined;
};

/** The way out to `target`. Throws `unknown_event_type`, or `invalid_option` for a store beside an inbox. */
export function acceptFor<Data, Tx>(
  target: Target<Data, Tx>,
  { store, ...settings }: ProcessorSettings<Data>,
): Accept<Data> {
  if (!isInbox(target)) {
    const processor = createProcessor<Data, Tx>(target, {
      ...settings,
      ...(store && { store: store as DedupeStore<Tx> }),
    });
    return ({ parsed, body, source, receivedAt, signal }) =>
      processor.accept(parsed, { source, receivedAt, signal, fingerprint: crc32(body) });
  }
  if (store === undefined) return acceptInto(target);
  throw new WebhookError(
    "invalid_option",
    "The options have a store, but the target is an inbox, which deduplicates by itself.",
    "Leave the store out, or pass handlers instead of the inbox.",
  );
}

/** Store or inbox → source → the fingerprints of the keys of each receiver that accepts its events into it. */
const keysBySource = new WeakMap<object, Map<string, Set<readonly string[]>>>();

/**
 * Notes that a receiver accepts events of `source` into `store`. Warns if another receiver of this process does so too and
 * has none of these keys: they are two endpoints, and an id of the one would count as a duplicate of the other's.
 * Returns a function that forgets this receiver. `keys` is a list of its own.
 */
export function joinSource(
  store: object,
  source: string,
  keys: readonly string[],
  logger: Logger,
): () => void {
  const bySource = keysBySource.get(store) ?? new Map<string, Set<readonly string[]>>();
  const receivers = bySource.get(source) ?? new Set<readonly string[]>();
  keysBySource.set(store, bySource.set(source, receivers));
  const known = [...receivers].flat();
  if (known.length > 0 && keys.length > 0 && !keys.some((key) => known.includes(key))) {
    warnOfSetup(
      logger,
      "shared_source",
      `Two receivers have different keys, and share a store and the source "${source}": an event of one endpoint counts as a ` +
        'duplicate of the other\'s with the same id, and does not run. Give each a source of its own, such as { source: "eu" }.',
    );
  }
  receivers.add(keys);
  return () => void receivers.delete(keys);
}

const storedAs: Readonly<Record<PutResult, StoredOutcome>> = {
  stored: { code: "stored" },
  duplicate: { code: "already_stored" },
  conflict: { code: "conflict" },
};

/** Stores unknown, unhandled and invalid events too: the worker decides about them. */
function acceptInto<Data>(inbox: Pick<InboxWriter, "put">): Accept<Data> {
  return async ({ parsed, id, body, source, receivedAt }) => {
    try {
      const [result] = await putEntries(inbox, [inboxEntry(parsed, { source, id, body, receivedAt })]);
      return storedAs[result as PutResult]; // one entry, so one result
    } catch (error) {
      return { code: "store_unavailable", error };
    }
  };
}
