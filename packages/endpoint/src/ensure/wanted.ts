import { type Catalog, createProcessor, type Handlers, WebhookError } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/kit";

/** Which event types an endpoint is for, as it was given: those that handlers take, or a list. */
export interface Wanted {
  readonly handlers?: Handlers<unknown, never> | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  /** The catalog of the receiver. */
  readonly catalog: Catalog<unknown>;
}

/** The event types that an endpoint is for. */
export interface WantedTypes {
  /** Event types, families of them such as `esim.lifecycle.*`, and `*` for all. */
  readonly names: readonly string[];
  /** Whether they are the names of handlers. */
  readonly areHandlers: boolean;
  /** The event types of the receiver's catalog. */
  readonly known: readonly string[];
}

/**
 * Checks handlers as receivers do. Throws `invalid_option` unless there is one of the two, and `unknown_event_type` for a handler
 * that no receiver would take.
 */
export function wantedTypes(caller: string, { handlers, eventTypes, catalog }: Wanted): WantedTypes {
  const known = catalog.types;
  if ((handlers === undefined) === (eventTypes === undefined)) {
    throw new WebhookError(
      "invalid_option",
      `${handlers === undefined ? "there are neither handlers nor eventTypes" : "there are handlers and eventTypes"}.`,
      "Pass the handlers that the receiver has, or else a list of eventTypes.",
      { where: caller },
    );
  }
  if (handlers === undefined) return { names: eventTypes ?? [], areHandlers: false, known };
  createProcessor(handlers as Handlers<unknown>, { catalog }); // none of them is called
  return { names: Object.keys(handlers), areHandlers: true, known };
}

/** Whether one of the names takes the event type. */
export function isTaken(names: readonly string[], eventType: string): boolean {
  return names.some((name) => takes(name, eventType));
}

export function takes(name: string, eventType: string): boolean {
  return name.endsWith("*") ? eventType.startsWith(name.slice(0, -1)) : name === eventType;
}

/**
 * The event types to subscribe a new endpoint to. Throws `unknown_event_type` if one of a list is not offered, since the endpoint
 * could not be changed later, and if nothing is left.
 */
export function wishedTypes({ names, areHandlers }: WantedTypes, offered: readonly string[]): string[] {
  const types = offered.filter((type) => isTaken(names, type));
  const lost = names.find((name) => !offered.some((type) => takes(name, type)));
  if (lost === undefined || (areHandlers && types.length > 0)) return types;
  throw new WebhookError(
    "unknown_event_type",
    `The service has no event type ${JSON.stringify(lost)}, so nothing was registered.`,
    suggest(lost, offered),
  );
}
