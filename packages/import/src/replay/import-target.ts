import {
  type Catalog,
  type Clock,
  createProcessor,
  type DedupeStore,
  type Handlers,
  type InboxWriter,
  type Logger,
  type Processor,
  WebhookError,
} from "@esim-webhooks/core";
import { isInbox } from "@esim-webhooks/core/kit";
import { createEventReader } from "../record/read-event.ts";
import { intoInbox } from "./into-inbox.ts";
import { intoNothing } from "./into-nothing.ts";
import { intoProcessor } from "./into-processor.ts";
import type { Destination } from "./sink.ts";

export interface TargetSettings {
  readonly source: string;
  readonly catalog: Catalog<unknown>;
  readonly store?: DedupeStore | undefined;
  readonly concurrency: number;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Where a dump goes: an inbox, handlers, or a processor. */
// NoInfer is not around the union, as in core's Target: editors would complete no event types
export type ImportTarget<Data, Tx> =
  | Pick<InboxWriter, "put">
  | NoInfer<Handlers<Data, Tx>>
  | NoInfer<Processor<Data>>;

/** Tells what the target is. Throws `invalid_option` or `unknown_event_type` when the set-up is wrong. */
export function createDestination(
  target: ImportTarget<unknown, never>,
  settings: TargetSettings,
  run: () => string,
): Destination<unknown> {
  const { source, force, dryRun, concurrency, logger, clock, store, signal } = settings;
  const readEvent = createEventReader(settings.catalog, logger);
  const now = () => clock.now();
  if (isInbox(target)) {
    refuseStore(store, "an inbox");
    const into = intoInbox(target, { run, source, force, now, logger, readEvent });
    return dryRun ? intoNothing(readEvent, false) : into;
  }
  const processor = isProcessor(target) ? target : processorOf(target, settings);
  if (isProcessor(target)) refuseStore(store, "a processor");
  const into = intoProcessor(processor, { run, source, force, concurrency, now, logger, signal });
  return dryRun ? intoNothing(readEvent, true) : into;
}

export function kindOf(target: unknown): "inbox" | "inline" {
  return isInbox(target) ? "inbox" : "inline";
}

function processorOf(handlers: Handlers<unknown, never>, settings: TargetSettings): Processor<unknown> {
  const { catalog, store, logger, clock, dryRun } = settings;
  return createProcessor<unknown, never>(handlers, {
    catalog: catalog as Catalog<unknown>,
    ...(store !== undefined && !dryRun && { store: store as DedupeStore<never> }), // else it would be asked whether it is ready
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
    `importDeliveries: a store was given together with ${what}, which deduplicates by itself.`,
    "Leave the store out, or pass handlers.",
  );
}
