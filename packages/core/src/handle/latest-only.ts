import * as z from "zod/mini";
import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import { parseOptions } from "../base/options.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { Handler, HandlerContext } from "./handler.ts";

/** The options that every store's `latestOnly` has. */
export interface LatestOnlySettings<Event> {
  /**
   * The name of the state that the handler stores, such as `"profile"`. All events handled under one name are compared with each other, so use
   * it only for types whose newest event has the whole state.
   */
  state: string;
  /** Returns the subject whose state the handler stores. If it returns undefined, the event is not skipped. Default: the event's `esimReference`. */
  subject?: (event: Event) => string | undefined;
}

/** The key under which a store remembers the time of the newest handled event: a state, and its subject. */
export interface LatestKey {
  /** The option `state`. */
  readonly state: string;
  /** Usually an eSIM. */
  readonly subject: string;
}

/**
 * For authors of a store's `latestOnly`. Makes the handler that skips an event older than the newest one that was handled for the same
 * state and subject. Throws `invalid_option`.
 * @param settings the options that every store's `latestOnly` has
 * @param handler the handler that stores the state
 * @param advance stores the event's time as the newest one, in the transaction of the handler's writes. Returns false if a later time is stored
 */
export function latestOnlyHandler<Event extends WebhookEvent<string, unknown>, Tx>(
  settings: LatestOnlySettings<Event>,
  handler: Handler<Event, Tx>,
  advance: (key: LatestKey, event: Event, context: HandlerContext<Tx>) => Awaitable<boolean>,
): Handler<Event, Tx> {
  const { state, subject = esimOf } = parseOptions<LatestOnlySettings<Event>>("latestOnly", shape, settings);
  if (typeof handler !== "function") {
    throw new WebhookError(
      "invalid_option",
      "latestOnly was given no handler.",
      'Pass it after the options: latestOnly({ state: "profile" }, handler).',
    );
  }
  const run: Handler<Event, Tx> = async (event, context) => {
    if (event.type === "esim.faulted") throw faultsAreNoState();
    const about = subject(event);
    if (about === undefined) return handler(event, context);
    const isNewest = await advance({ state, subject: about }, event, context);
    return isNewest ? handler(event, context) : context.discard("older than what was worked before");
  };
  return Object.assign(run, { [mark]: true });
}

const mark: unique symbol = Symbol.for("esim-webhooks.latest-only");

/** Whether a handler was made by `latestOnly`. */
export function isLatestOnly(handler: object | undefined): boolean {
  return handler !== undefined && mark in handler;
}

/** The error of `latestOnly` around a handler of `esim.faulted`. */
export function faultsAreNoState(): WebhookError {
  return new WebhookError(
    "invalid_option",
    'latestOnly takes "esim.faulted": a fault that arrives late would be skipped, and its replacement never ordered.',
    'Give "esim.faulted" a handler without latestOnly.',
  );
}

const shape = {
  state: z.string().check(z.minLength(1, "expected the name of the state that the handler stores")),
  subject: z.optional(
    z.custom<(event: unknown) => string | undefined>(
      (value) => typeof value === "function",
      "expected a function",
    ),
  ),
};

function esimOf({ data }: WebhookEvent<string, unknown>): string | undefined {
  const { esimReference } = data as { readonly esimReference?: unknown };
  return typeof esimReference === "string" ? esimReference : undefined;
}
