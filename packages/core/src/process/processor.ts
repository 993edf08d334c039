import * as z from "zod/mini";
import type { Awaitable } from "../base/awaitable.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Logger, safeLogger, silentLogger } from "../base/logger.ts";
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
import { andThen, isPromise } from "../base/waiting.ts";
import type { Catalog, Parsed } from "../event/catalog.ts";
import { catalogOption } from "../event/esim-catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { EventKey, WebhookEvent } from "../event/event.ts";
import { createDispatcher, createTypeWarning } from "../handle/dispatcher.ts";
import type { EventOutcome, UndoneOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import {
  createRunHandler,
  isDone,
  type Ran,
  type RunOutcome,
  transacted,
  watchLoop,
} from "../handle/run-handler.ts";
import { processStage } from "../handle/stages.ts";
import type { Claim, DedupeStore } from "../store/dedupe-store.ts";
import { memoryStore } from "../store/memory-store.ts";
import {
  callStore,
  createSettler,
  type HeldClaim,
  keepLease,
  type StoreUnavailable,
  unavailable,
} from "./claim.ts";
import { createUnmarked } from "./unmarked.ts";

export interface ProcessorOptions<Data = EsimEvents, Tx = unknown> {
  /** Remembers done ids. Default: a `memoryStore()`, which is for a single process. */
  store?: DedupeStore<Tx>;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** How long a crashed process blocks an id, in ms. The lease is renewed while a handler runs. Default 30,000. */
  leaseMs?: number;
  /** Gets the log lines: pino, `console`, or anything of their shape. Default: silent. */
  logger?: Logger;
  /** Tells the time, for tests. Default: the machine's clock. */
  clock?: Clock;
}

/** Where an event came from. */
export interface Provenance {
  /** The name of the endpoint that received it. Default `"default"`. */
  source?: string;
  /** When the event was received. Default: now. */
  receivedAt?: Date;
  /** The attempt as your queue counts it, from 1. Default 1. */
  attempt?: number;
  /** Whether the event comes from a dump: `context.replayed`. Default false. */
  replayed?: boolean;
  /**
   * The CRC-32 of the raw body as signed (`zlib.crc32`). A done id with another fingerprint is a `conflict`. Omit it if
   * the body was rebuilt and is not the signed bytes. Default: none.
   */
  fingerprint?: number;
  /**
   * Says whether your queue gives the event up after its handler threw (`failed`) or returned `retryLater` (`retry_later`). `settle` of
   * `observe` is then `dead`, not `retry`. It is called only while `settle` is observed and the event was not lost. Default: never,
   * also when it throws.
   */
  givesUp?(outcome: UndoneOutcome): boolean;
  /** Passed to the handler; aborts when the handler should stop. Once it has aborted, no handler starts. */
  signal?: AbortSignal;
}

/** Works events inline: claim, dispatch, then complete or release. */
export interface Processor<Data = EsimEvents> {
  /** Works one event from a queue or your own code. No event makes it reject, however invalid. */
  process(event: WebhookEvent, provenance?: Provenance): Promise<EventOutcome>;
  /** Works an event that the catalog has parsed. Answers at once, without a promise, if its handler and the store do. */
  accept(parsed: Parsed<Data>, provenance?: Provenance): Awaitable<EventOutcome>;
  /** Where it remembers done ids: its option `store`, or the `memoryStore()` in its place. */
  readonly store: DedupeStore;
  /** A processor with the same handlers on another store: `wrap` receives this one's store. */
  withStore(wrap: (store: DedupeStore) => DedupeStore): Processor<Data>;
}

type ProcessorSettings = SettingsOf<ProcessorOptions<unknown>, "store">;

const storeMethods = withMethods<DedupeStore>("claim", "extend", "complete", "release");

/** A hint for a value that is not a store. */
function hintFor(value: unknown): string {
  if (typeof value === "string") return ", not a URL: call redisStore(url) or postgresStore({ url })";
  if (value instanceof Promise) return ", not a promise of it: await it";
  if (hasMethod(value, "put")) return ": pass an inbox in place of the handlers";
  if (typeof value === "function") return ", not the function: call it";
  return "";
}

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
 * Deduplicates and works events inline: behind a receiver, or behind any queue (SQS, Kafka, NATS).
 * Throws `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function createProcessor<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  options: ProcessorOptions<Data, Tx> = {},
): Processor<Data> {
  checkArguments(
    "createProcessor",
    { handlers: [handlers, "a map of handlers"], options: [options] },
    "Pass handlers, then options such as { store }. Events of an inbox are handled by a worker: createWorker(inbox, handlers).",
  );
  const settings = parseOptions("createProcessor", processorShape, options);
  const logger = safeLogger(settings.logger);
  const { leaseMs, clock, store = memoryStore({ logger }) } = settings;
  const catalog = settings.catalog as Catalog<Data>;
  const dispatcher = createDispatcher<Data>(handlers, catalog);
  const watch = watchLoop(logger, leaseMs);
  const runHandler = createRunHandler(dispatcher, watch, logger);
  store.ready?.().catch(() => {}); // logs a set-up mistake at start-up; every claim checks again
  const unmarked = createUnmarked(store, logger, leaseMs);
  const { complete, release, committed, lost } = createSettler(store, logger, unmarked.keep);
  const warnUnhandled = createTypeWarning(
    logger,
    "Events of this type have no handler, so they have no effect. Add a handler, or unsubscribe from the type.",
  );

  function accept(
    parsed: Parsed<Data>,
    provenance: Provenance = {},
    id: unknown = parsed.event?.id,
  ): Awaitable<EventOutcome> {
    if (!processStage.isWatched()) return decide(parsed, provenance);
    const { source = "default", attempt = 1, replayed = false } = provenance;
    const { type } = parsed;
    return processStage.trace(
      () => ({ source, ...(isText(id) && { id }), ...(type !== null && { type }), attempt, replayed }),
      () => decide(parsed, provenance),
      (outcome) => ({ ...outcomeFields(outcome), ...("conflict" in outcome && { conflict: true }) }),
    );
  }

  function decide(parsed: Parsed<Data>, provenance: Provenance): Awaitable<EventOutcome> {
    if (parsed.kind === "invalid") return { code: "invalid", issues: parsed.issues };
    if (dispatcher.handles(parsed.event.type)) return claimAndWork(parsed.event, provenance);
    warnUnhandled(parsed.event, provenance.source ?? "default");
    return { code: parsed.kind === "unknown" ? "unknown_type" : "unhandled_type" };
  }

  function claimAndWork(event: WebhookEvent, provenance: Provenance): Awaitable<EventOutcome> {
    const key = { source: provenance.source ?? "default", id: event.id };
    const askedAt = performance.now();
    return andThen(claimId(key, provenance.fingerprint), (claim) => {
      if ("code" in claim) return claim;
      const held = heldClaim(event, key, claim.token, askedAt, provenance);
      // after an abort, the sender has already been told to retry
      return provenance.signal?.aborted
        ? release(held, { code: "deadline_reached" })
        : work(event, provenance, held);
    });
  }

  function heldClaim(
    { type }: WebhookEvent,
    key: EventKey,
    token: string,
    askedAt: number,
    { attempt = 1, fingerprint, givesUp }: Provenance,
  ): HeldClaim {
    const controller = new AbortController();
    const { signal } = controller;
    const heldUntil = askedAt + leaseMs;
    return {
      key,
      type,
      attempt,
      token,
      leaseMs,
      askedAt,
      heldUntil,
      fingerprint,
      givesUp,
      controller,
      signal,
    };
  }

  function claimId(
    key: EventKey,
    fingerprint: number | undefined,
  ): Awaitable<{ readonly token: string } | EventOutcome> {
    const doneHere = unmarked.find(key, fingerprint);
    if (doneHere !== undefined) return doneHere;
    const called = callStore(() => store.claim(key, leaseMs, fingerprint));
    return andThen(called, (answered) => ("error" in answered ? answered : claimOf(answered.answer)));
  }

  function work(event: WebhookEvent, provenance: Provenance, held: HeldClaim): Awaitable<EventOutcome> {
    const running = run(event, provenance, held);
    if (!isPromise(running)) return settle(held, running);
    const stopRenewing = keepLease(store, held, provenance.signal, watch);
    return running.then((ran) => {
      stopRenewing();
      return settle(held, ran);
    });
  }

  function run(
    event: WebhookEvent,
    { attempt = 1, receivedAt = new Date(clock.now()), replayed = false }: Provenance,
    held: HeldClaim,
  ): Awaitable<Ran | StoreUnavailable> {
    const facts = { source: held.key.source, attempt, receivedAt, replayed };
    const { transact } = store;
    return transact === undefined
      ? andThen(runHandler(event, facts, held, undefined), ranAlone)
      : inTransaction(transact, held, (tx) => runHandler(event, facts, held, tx));
  }

  function inTransaction(
    transact: NonNullable<DedupeStore["transact"]>,
    { key, token }: HeldClaim,
    run: (tx: unknown) => Awaitable<RunOutcome>,
  ): Promise<Ran | StoreUnavailable> {
    return transacted((work) => transact.call(store, key, token, work), run).catch(unavailable);
  }

  function settle(held: HeldClaim, ran: Ran | StoreUnavailable): Awaitable<EventOutcome> {
    if ("error" in ran) return release(held, ran);
    const { outcome, transaction } = ran;
    if (transaction === "committed") return committed(held, outcome);
    if (!isDone(outcome)) return release(held, outcome);
    return transaction === "rolled_back" ? lost(held) : complete(held, outcome);
  }

  return {
    store,
    accept: (parsed, provenance) => accept(parsed, provenance),
    process: async (event, provenance) => accept(catalog.check(event), provenance, event?.id),
    withStore: (wrap) =>
      createProcessor<Data, Tx>(handlers, { ...options, store: wrap(store) as DedupeStore<Tx> }),
  };
}

function ranAlone(outcome: RunOutcome): Ran {
  return { outcome, transaction: "unused" };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** The claim, or what the event is that has none. */
function claimOf(claim: Claim): { readonly token: string } | EventOutcome {
  if (claim?.status === "done") return { code: claim.conflict ? "conflict" : "duplicate" };
  if (claim?.status === "busy") {
    const { retryAfterMs, inInbox, conflict } = claim;
    return { code: "busy", retryAfterMs, ...(conflict && { conflict }), ...(inInbox && { inInbox }) };
  }
  if (claim?.status === "claimed") return claim;
  return {
    code: "store_unavailable",
    error: new TypeError("claim() answered with none of the statuses claimed, busy and done."),
  };
}
