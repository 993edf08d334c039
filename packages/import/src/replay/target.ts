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
import { isInbox } from "@esim-webhooks/core/kit";
import { createEventReader } from "../record/read-event.ts";
import { intoInbox } from "./into-inbox.ts";
import { intoNothing } from "./into-nothing.ts";
import { intoProcessor } from "./into-processor.ts";
import { refuseUnknownSource } from "./refuse-unknown-source.ts";
import type { OpenSink, Sink } from "./sink.ts";
import type { SinkSettings } from "./sink-settings.ts";

/** Where events go: an inbox, handlers, or a processor. */
// NoInfer is not around the union, as in core's Target: editors would complete no event types
export type ReplayTarget<Data, Tx> =
  | Pick<InboxWriter, "put" | "sources">
  | NoInfer<Handlers<Data, Tx>>
  | NoInfer<Processor<Data>>;

/** The sink for this target. Throws `invalid_option` or `unknown_event_type` for a mistake in the set-up. */
export function openSinkOf(target: ReplayTarget<unknown, never>, settings: SinkSettings): OpenSink<unknown> {
  const { dryRun, store, source, newSource } = settings;
  const readEvent = createEventReader(settings.catalog, settings.logger);
  const opened =
    <Item>(holder: Pick<Lifecycle, "sources">, open: (run: string) => Sink<Item>): OpenSink<Item> =>
    async (run) => {
      if (!newSource) await refuseUnknownSource(holder, source);
      return open(run);
    };
  if (isInbox(target)) {
    refuseStore(store, "an inbox");
    const openInbox = intoInbox(target, { ...settings, readEvent });
    return dryRun ? async () => intoNothing(readEvent, false) : opened(target, openInbox);
  }
  if (isProcessor(target)) refuseStore(store, "a processor");
  const processor = isProcessor(target) ? target : processorOf(target, settings);
  return dryRun
    ? async () => intoNothing(readEvent, true)
    : opened(processor.store, intoProcessor(processor, settings));
}

export function kindOf(target: unknown): "inbox" | "inline" {
  return isInbox(target) ? "inbox" : "inline";
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
  );
}
