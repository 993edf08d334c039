import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { suggest } from "../base/options.ts";
import { outcomeFields } from "../base/trace.ts";
import { isPromise } from "../base/waiting.ts";
import type { Catalog } from "../event/catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { DispatchOutcome } from "./event-outcome.ts";
import type { Handler, HandlerContext, Handlers } from "./handler.ts";
import { faultsAreNoState, isLatestOnly } from "./latest-only.ts";
import { type NotedOutcome, outcomeOfReturn, outcomeOfThrow } from "./noted-outcome.ts";
import { type HandleMessage, handleStage } from "./stages.ts";

/** Calls handlers, in the same way for every caller. */
export interface Dispatcher {
  /** Whether there is a handler for this event type. The catalog need not have the type. */
  handles(type: string): boolean;
  /**
   * Runs the handler of the event's type. Never throws or rejects: an error of the handler becomes the outcome `failed`. `taken`
   * says how the event came to its handler. Default: by a processor.
   */
  dispatch(event: WebhookEvent, call: HandlerCall, taken?: TakenFacts): Awaitable<DispatchOutcome>;
}

/** A call of a handler. */
export interface HandlerCall {
  readonly context: HandlerContext;
  /** The outcome that the handler notes with functions of its context. */
  readonly note: NotedOutcome;
}

/** How an event came to its handler: facts for `observe`, and a callback. */
export interface TakenFacts {
  /** Who has the event. Default: a processor. */
  readonly by?: HandleMessage["by"];
  /** For how long the event was due before it was taken, in ms. Absent for an event that a processor handles as it arrives. */
  readonly waitMs?: number | undefined;
  /** The trace that the event was stored with. */
  readonly trace?: string | null | undefined;
  /** Called inside the handler's span, before the handler. */
  readonly onStart?: () => void;
}

/**
 * Creates a dispatcher. Throws `unknown_event_type` for a handler of a type that the catalog does not have, with the nearest name, and
 * `invalid_option` if there are no handlers, one is not a function, or `esim.faulted` would get a handler of `latestOnly`, which could skip a fault.
 */
export function createDispatcher<Data>(handlers: Handlers<Data, never>, catalog: Catalog<Data>): Dispatcher {
  const given = readHandlers(handlers);
  const names = new Set([...catalog.types, ...catalog.types.flatMap(familiesOf), "*"]);
  for (const name of given.keys()) {
    if (names.has(name)) continue;
    throw new WebhookError(
      "unknown_event_type",
      `There is a handler for "${name}", but the catalog has no such event type.`,
      `${suggest(name, [...names])} A handler of "*" gets types that the catalog does not contain; defineCatalog adds them.`,
    );
  }
  const families = [...given].filter(([name]) => name.endsWith("*")).sort(([a], [b]) => b.length - a.length);
  const known = new Map<string, Handler<WebhookEvent> | undefined>(
    catalog.types.map((type) => [type, mostSpecific(type)]),
  );
  if (isLatestOnly(known.get("esim.faulted"))) throw faultsAreNoState();

  /** Returns the handler of the most specific key that matches: the type itself, its longest family, or `*`. */
  function mostSpecific(type: string): Handler<WebhookEvent> | undefined {
    return given.get(type) ?? families.find(([name]) => type.startsWith(name.slice(0, -1)))?.[1];
  }

  function handlerOf(type: string): Handler<WebhookEvent> | undefined {
    return known.get(type) ?? mostSpecific(type);
  }

  function callHandler(
    event: WebhookEvent,
    { context, note }: HandlerCall,
    taken: TakenFacts | undefined,
  ): Awaitable<DispatchOutcome> {
    taken?.onStart?.();
    try {
      const returned = handlerOf(event.type)?.(event, context);
      if (isPromise(returned)) return whenSettled(returned, note);
    } catch (error) {
      return outcomeOfThrow(note, error);
    }
    return outcomeOfReturn(note);
  }

  return {
    handles: (type) => handlerOf(type) !== undefined,
    dispatch: handleStage.around(callHandler, factsOf, (outcome) => outcomeFields(outcome)),
  };
}

function whenSettled(returned: Promise<unknown>, note: NotedOutcome): Promise<DispatchOutcome> {
  return Promise.resolve(returned).then(
    () => outcomeOfReturn(note),
    (error: unknown) => outcomeOfThrow(note, error),
  );
}

function factsOf(
  { id, type }: WebhookEvent,
  { context: { source, attempt, replayed, receivedAt } }: HandlerCall,
  { by = "processor", waitMs, trace }: TakenFacts = {},
) {
  return {
    source,
    id,
    type,
    by,
    attempt,
    replayed,
    receivedAt,
    ...(waitMs !== undefined && { waitMs }),
    ...(typeof trace === "string" && { trace }),
  };
}

function readHandlers(handlers: unknown): Map<string, Handler<WebhookEvent>> {
  const entries = typeof handlers === "object" && handlers !== null ? Object.entries(handlers) : [];
  if (entries.length === 0) {
    throw new WebhookError(
      "invalid_option",
      "There are no handlers, so every event would be acknowledged and dropped.",
      'Pass a map such as { "esim.faulted": async (event) => { … } }.',
    );
  }
  for (const [name, handler] of entries) {
    if (typeof handler === "function") continue;
    throw new WebhookError(
      "invalid_option",
      `The handler of "${name}" is not a function.`,
      "Pass (event, context) => …",
    );
  }
  return new Map(entries);
}

const mostWarnedTypes = 100;

/** Creates a function that warns of an event without a handler: once for each type, and for at most 100 types. */
export function createTypeWarning(
  logger: Logger,
  message: string,
): (event: Pick<WebhookEvent, "type">, source: string) => void {
  const warned = new Set<string>();
  return ({ type }, source) => {
    if (warned.has(type) || warned.size === mostWarnedTypes) return;
    warned.add(type);
    logger.warn({ type, source }, message);
  };
}

/** The families of a type: `a.b.*` and `a.*` for `a.b.c`. */
function familiesOf(type: string): string[] {
  const parts = type.split(".");
  return parts.slice(1).map((_, index) => [...parts.slice(0, index + 1), "*"].join("."));
}
