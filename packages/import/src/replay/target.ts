import {
  type Catalog,
  createProcessor,
  type DedupeStore,
  type Handlers,
  type InboxWriter,
  type Lifecycle,
  type Processor,
  WebhookError,
} from "@esim-webhooks/core";
import { isInbox } from "@esim-webhooks/core/engine";
import type { ImportErrorCode } from "../dump/errors.ts";
import { createEventReader, describePaths, type ReadEvent } from "../record/checks.ts";
import type { RecordedEvent } from "../record/recorded-event.ts";
import { intoInbox } from "./into-inbox.ts";
import { intoProcessor } from "./into-processor.ts";
import { isRerunMark } from "./rerun-store.ts";
import { type Sink, type SinkOpener, type SinkSettings, stored } from "./sink.ts";

/** Where events go: an inbox, handlers, or a processor. */
// NoInfer is not around the union, as in core's Target: editors would complete no event types
export type ReplayTarget<Data, Tx> =
  | Pick<InboxWriter, "put" | "sources">
  | NoInfer<Handlers<Data, Tx>>
  | NoInfer<Processor<Data>>;

/** Returns a function that opens the sink for this target. Throws `invalid_option` or `unknown_event_type` for a mistake in the set-up. */
export function openSinkOf(
  target: ReplayTarget<unknown, never>,
  settings: SinkSettings,
): SinkOpener<unknown> {
  const { dryRun, store, source, newSource } = settings;
  const readEvent = createEventReader(settings.catalog, settings.logger);
  const checkedOpen =
    <Item>(holder: Pick<Lifecycle, "sources">, open: (run: string) => Sink<Item>): SinkOpener<Item> =>
    async (run) => {
      if (!newSource) await refuseUnknownSource(holder, source);
      return open(run);
    };
  if (isInbox(target)) {
    refuseStore(store, "an inbox");
    const openInbox = intoInbox(target, { ...settings, readEvent });
    return dryRun ? async () => dryRunSink(preparedForInbox(readEvent)) : checkedOpen(target, openInbox);
  }
  if (isProcessor(target)) refuseStore(store, "a processor");
  const processor = isProcessor(target) ? target : processorOf(target, settings);
  return dryRun
    ? async () => dryRunSink(preparedForHandlers(readEvent))
    : checkedOpen(processor.store, intoProcessor(processor, settings));
}

/** The kind of a target, as a checkpoint has it. */
export function targetKind(target: unknown): "inbox" | "inline" {
  return isInbox(target) ? "inbox" : "inline";
}

type Prepare = Sink<null>["prepare"];
type ReadEventOf = (event: RecordedEvent) => ReadEvent;

/** Counts every event as stored that `prepare` does not refuse. */
function dryRunSink(prepare: Prepare): Sink<null> {
  return {
    batchSize: 1000,
    atOnce: 1,
    mayRefuse: false,
    prepare,
    take: async (items) => items.map(() => stored),
  };
}

const accepted = { item: null, bytes: 0 };

/** For an inbox, which stores every event. The schema is tried nevertheless, since an asynchronous one throws: it is a mistake in the set-up. */
function preparedForInbox(readEvent: ReadEventOf): Prepare {
  return (event) => {
    readEvent(event);
    return accepted;
  };
}

/** For handlers, which get no event that its schema does not accept, or throws at. */
function preparedForHandlers(readEvent: ReadEventOf): Prepare {
  return (event) => {
    const parsed = readEvent(event);
    if (parsed.kind === "threw") return { fate: "rejected", code: "failed", reason: "its schema threw" };
    return parsed.kind === "invalid"
      ? { fate: "invalid", code: "invalid", reason: describePaths(parsed.issues) }
      : accepted;
  };
}

function processorOf(handlers: Handlers<unknown, never>, settings: SinkSettings): Processor<unknown> {
  const { catalog, store, logger, clock, dryRun } = settings;
  return createProcessor<unknown, never>(handlers, {
    catalog: catalog as Catalog<unknown>,
    ...(store !== undefined && !dryRun && { store: store as DedupeStore<never> }), // a dry run must not even ask the store whether it is ready
    logger,
    clock,
  });
}

function isProcessor(target: unknown): target is Processor<unknown> {
  const methods = target as Partial<Processor> | null;
  return (
    typeof methods === "object" &&
    typeof methods?.accept === "function" &&
    typeof methods.process === "function"
  );
}

function refuseStore(store: unknown, what: string): void {
  if (store === undefined) return;
  throw new WebhookError(
    "invalid_option",
    `store was passed together with ${what}, which deduplicates by itself.`,
    "Leave the store out, or pass handlers.",
    { option: "store" },
  );
}

/**
 * Rejects with `source_unknown` if the inbox or the store holds only events of other sources: ids are unique within a source,
 * so each event would run a second time. Targets that cannot list their sources are not checked.
 */
async function refuseUnknownSource(holder: Pick<Lifecycle, "sources">, source: string): Promise<void> {
  const held = ((await holder.sources?.()) ?? []).filter((name) => !isRerunMark(name));
  if (held.length === 0 || held.includes(source)) return;
  const names = held.map((name) => `"${name}"`).join(", ");
  throw new WebhookError<ImportErrorCode>(
    "source_unknown",
    `The target holds only events of the source ${names}: under "${source}", each of them would run a second time.`,
    `Set { source: "${held[0]}" }, or { newSource: true } if "${source}" is another endpoint.`,
    { option: "source", source },
  );
}
