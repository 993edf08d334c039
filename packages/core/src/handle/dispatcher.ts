import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import { outcomeFields } from "../base/trace.ts";
import type { Catalog } from "../event/catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { DispatchOutcome } from "./event-outcome.ts";
import { type Handler, type HandlerContext, type Handlers, isRetryLater, readVerdict } from "./handler.ts";
import { handleStage } from "./stages.ts";

/** Calls handlers. Does not know who called it. */
export interface Dispatcher {
  /** The event types that have a handler. */
  readonly types: readonly string[];
  handles(type: string): boolean;
  /** Runs the handler of the event's type. Never rejects: a throw becomes the outcome `failed`. */
  dispatch(event: WebhookEvent, context: HandlerContext): Promise<DispatchOutcome>;
}

/** Checks the handlers against the catalog. Throws `unknown_event_type`, suggesting the nearest name. */
export function createDispatcher<Data>(handlers: Handlers<Data, never>, catalog: Catalog<Data>): Dispatcher {
  const given = readHandlers(handlers);
  const patterns = new Set(catalog.types.flatMap(patternsOf));
  for (const name of given.keys()) {
    if (patterns.has(name)) continue;
    throw new WebhookError(
      "unknown_event_type",
      `There is a handler for "${name}", but the catalog has no such event type.`,
      `${suggest(name, [...patterns])} Use defineCatalog to add event types.`,
    );
  }
  const byType = new Map<string, Handler<WebhookEvent>>();
  for (const type of catalog.types) {
    const pattern = patternsOf(type).find((candidate) => given.has(candidate));
    const handler = pattern === undefined ? undefined : given.get(pattern);
    if (handler !== undefined) byType.set(type, handler);
  }

  async function run(event: WebhookEvent, context: HandlerContext): Promise<DispatchOutcome> {
    try {
      const returned = readVerdict(await byType.get(event.type)?.(event, context));
      if (returned === undefined) return { code: "processed" };
      return isRetryLater(returned)
        ? { code: "retry_later", retryAfterMs: returned.afterMs }
        : { code: "discarded", reason: returned.reason };
    } catch (error) {
      return { code: "failed", error };
    }
  }

  return {
    types: [...byType.keys()],
    handles: (type) => byType.has(type),
    dispatch: (event, context) =>
      handleStage.trace(
        () => factsOf(event, context),
        () => run(event, context),
        outcomeFields,
      ),
  };
}

function factsOf({ id, type }: WebhookEvent, { source, attempt, replayed }: HandlerContext) {
  return { source, id, type, attempt, replayed };
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

/** The keys that match a type, most specific first: `a.b.c`, `a.b.*`, `a.*`, `*`. */
function patternsOf(type: string): string[] {
  const parts = type.split(".");
  const families = parts
    .slice(1)
    .map((_, index) => [...parts.slice(0, parts.length - 1 - index), "*"].join("."));
  return [type, ...families, "*"];
}
