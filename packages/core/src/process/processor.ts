import * as z from "zod/mini";
import type { Awaitable } from "../base/awaitable.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import {
  checkArguments,
  durationMs,
  hasMethod,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import { outcomeFields } from "../base/trace.ts";
import type { Catalog, Parsed } from "../event/catalog.ts";
import { catalogOption } from "../event/esim-catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { WebhookEvent } from "../event/event.ts";
import { createDispatcher, createTypeWarning } from "../handle/dispatcher.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import { processStage } from "../handle/stages.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { createClaimedWork } from "./claimed-work.ts";
import type { OwnProvenance, Provenance } from "./provenance.ts";

/** Options of `createProcessor`, and of all that handles events as they arrive. */
export interface ProcessorOptions<Data = EsimEvents, Tx = unknown> {
  /** Remembers done ids. Default: a `memoryStore()`, which is for a single process. */
  store?: DedupeStore<Tx>;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** How long a crashed process blocks an id, in ms. The lease is renewed while a handler runs. Default 30,000. */
  leaseMs?: number;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
  /** Returns the time, for tests. Default: the machine's clock. */
  clock?: Clock;
}

/** Handles events as they arrive: claims an event, runs its handler, then completes or releases the claim. */
export interface Processor<Data = EsimEvents> {
  /**
   * Handles one event from a queue or your own code. No event makes it reject, however invalid: a schema that throws is `failed`, as
   * a handler that throws. Rejects with `async_schema` for a mistake in the catalog.
   */
  process(event: WebhookEvent, provenance?: Provenance): Promise<EventOutcome>;
  /** Handles an event that the catalog has parsed. Synchronous if the handler and the store are. */
  accept(parsed: Parsed<Data>, provenance?: Provenance): Awaitable<EventOutcome>;
  /** The store of done ids: the option `store`, or the default `memoryStore()`. */
  readonly store: DedupeStore;
  /** Creates a processor with the same handlers and options on another store: the one that `wrap` returns for `store`. */
  withStore(wrap: (store: DedupeStore) => DedupeStore): Processor<Data>;
}

/** A processor to which a receiver can pass the controller of the handler's signal. */
interface ReceiverProcessor<Data> extends Processor<Data> {
  accept(parsed: Parsed<Data>, provenance?: OwnProvenance): Awaitable<EventOutcome>;
}

/** The catalog's verdict on an event, or the error that its schema threw. */
type Checked<Data> =
  | Parsed<Data>
  | { readonly kind: "threw"; readonly type: string; readonly error: unknown };

/** `ProcessorOptions` after parsing. */
export type ProcessorSettings = SettingsOf<ProcessorOptions<unknown>, "store">;

const storeMethods = withMethods<DedupeStore>("claim", "extend", "complete", "release");

/** A hint for a value that is not a store. */
function hintFor(value: unknown): string {
  if (typeof value === "string") return ", not a URL: call redisStore(url) or postgresStore({ url })";
  if (value instanceof Promise) return ", not a promise of it: await it";
  if (hasMethod(value, "put")) return ": pass an inbox in place of the handlers";
  if (typeof value === "function") return ", not the function: call it";
  return "";
}

/** The schemas of `ProcessorOptions`. */
export const processorShape: OptionsShape<ProcessorSettings> = {
  store: z.optional(
    z.custom<DedupeStore>((value) => storeMethods.safeParse(value).success, {
      error: ({ input }) =>
        `expected an object with claim(), extend(), complete(), release(), as redisStore(…) returns${hintFor(input)}`,
    }),
  ),
  catalog: catalogOption,
  leaseMs: z._default(durationMs(30), 30_000),
  logger: z._default(loggerOption, () => silentLogger),
  clock: z._default(withMethods<Clock>("now"), systemClock),
};

/**
 * Deduplicates events and handles them as they arrive: behind a receiver, or behind any queue (SQS, Kafka, NATS).
 * Throws `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function createProcessor<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: ProcessorOptions<Data, Tx> = {},
): Processor<Data> {
  const processor = createReceiverProcessor<Data, Tx>(handlers, options);
  checkAtStart(processor.store);
  return processor;
}

/** Lets a store log a mistake in its set-up when the process starts. Does not throw: every claim checks again. */
export function checkAtStart(store: Pick<DedupeStore, "ready"> | undefined): void {
  store?.ready?.().catch(() => {});
}

/**
 * Creates the processor of a receiver. Does not check its store: `createProcessor` and `createReceiver` do. `eventLog` gets a line for each
 * settlement. Default: the option `logger`.
 */
export function createReceiverProcessor<Data, Tx>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: ProcessorOptions<Data, Tx>,
  eventLog?: Logger,
): ReceiverProcessor<Data> {
  checkArguments(
    "createProcessor",
    { handlers: [handlers, "a map of handlers"], options: [options] },
    "Pass handlers, then options such as { store }. Events of an inbox are handled by a worker: createWorker(inbox, handlers).",
  );
  const settings = parseOptions("createProcessor", processorShape, options);
  const { leaseMs, clock, logger, store = memoryStore({ logger }) } = settings;
  const catalog = settings.catalog as Catalog<Data>;
  const dispatcher = createDispatcher<Data>(handlers, catalog);
  const work = createClaimedWork(store, dispatcher, {
    leaseMs,
    clock,
    logger,
    eventLog: eventLog ?? logger,
  });
  const warnUnhandled = createTypeWarning(
    logger,
    "Events of this type have no handler, so they have no effect. Add a handler, or replace the endpoint with one that is not subscribed.",
  );

  function check(event: WebhookEvent): Checked<Data> {
    try {
      return catalog.check(event);
    } catch (error) {
      if (WebhookError.is(error)) throw error; // every other event of the type would fail too
      return { kind: "threw", type: event.type, error }; // the envelope was checked before its schema
    }
  }

  function decide(parsed: Checked<Data>, provenance: OwnProvenance): Awaitable<EventOutcome> {
    if (parsed.kind === "threw") return { code: "failed", error: parsed.error };
    if (parsed.kind === "invalid") return { code: "invalid", issues: parsed.issues };
    if (dispatcher.handles(parsed.event.type)) return work(parsed.event, provenance);
    warnUnhandled(parsed.event, provenance.source ?? "default");
    return { code: parsed.kind === "unknown" ? "unknown_type" : "unhandled_type" };
  }

  const accept = processStage.around(
    // _id: for the stage's message only
    (parsed: Checked<Data>, provenance: OwnProvenance, _id: unknown) => decide(parsed, provenance),
    ({ type }, { source = "default", attempt = 1, replayed = false }, id) => ({
      source,
      ...(typeof id === "string" && { id }),
      ...(type !== null && { type }),
      attempt,
      replayed,
    }),
    (outcome) => ({ ...outcomeFields(outcome), ...("conflict" in outcome && { conflict: true }) }),
  );

  return {
    store,
    accept: (parsed, provenance = {}) => accept(parsed, provenance, parsed.event?.id),
    process: async (event, provenance = {}) => accept(check(event), provenance, event?.id),
    withStore: (wrap) =>
      createProcessor<Data, Tx>(handlers, { ...options, store: wrap(store) as DedupeStore<Tx> }),
  };
}
