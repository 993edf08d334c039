import { type Catalog, createProcessor, type Handlers, WebhookError } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";

/**
 * The faults of an endpoint; the codes are stable.
 *
 * - `not_subscribed`: the endpoint is not subscribed to a wanted event type, so its events never come
 * - `not_offered`: the service does not offer a wanted event type, so its events never come
 * - `no_handler`: a subscribed event type has no handler, so its events have no effect
 * - `not_in_catalog`: the same, and the receiver's catalog does not have the event type
 * - `not_wanted`: a subscribed event type is not in the list of wanted ones
 * - `retired`: the service no longer offers a subscribed event type
 * - `inactive`: the service sends nothing to the endpoint
 * - `same_url`: another endpoint has the same URL
 * - `other_endpoints`: the endpoint was registered by this call, and the client has endpoints of other URLs: the new URL may be mistyped
 * - `no_secret`: no secret of the key store is known to be the endpoint's. A key that names no endpoint is, if no other such key is valid and the client has no other endpoint
 * - `change_under_way`: a rotation, a registration or a replacement has begun and has not ended
 */
export type EndpointFindingCode =
  | "not_subscribed"
  | "not_offered"
  | "no_handler"
  | "not_in_catalog"
  | "not_wanted"
  | "retired"
  | "inactive"
  | "same_url"
  | "other_endpoints"
  | "no_secret"
  | "change_under_way";

/** Something that is wrong with an endpoint. Plain JSON. */
export interface EndpointFinding {
  /** The kind of finding. Stable, for programs. */
  readonly code: EndpointFindingCode;
  /** The event types, or the references of endpoints, that the finding is about. An endpoint that was just registered comes first. */
  readonly about: readonly string[];
  /** The mistake, as a sentence. */
  readonly problem: string;
  /** How to fix it, as a sentence. */
  readonly remedy: string;
}

/** The event types of an endpoint, as the caller gave them: those that handlers take, or a list. */
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
 * Returns the wanted event types, and checks handlers as receivers do. Throws `invalid_option` unless exactly one of `handlers` and
 * `eventTypes` is given, or for wrong handlers, and `unknown_event_type` for a handler of a type that the catalog lacks.
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
function isTaken(names: readonly string[], eventType: string): boolean {
  return names.some((name) => takes(name, eventType));
}

function takes(name: string, eventType: string): boolean {
  return name.endsWith("*") ? eventType.startsWith(name.slice(0, -1)) : name === eventType;
}

/**
 * The event types to subscribe a new endpoint to. Throws `unknown_event_type` if the service lacks a type of a list, since the endpoint
 * could not be changed later, or lacks all types that the handlers take.
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

/** The event types that are compared. */
export interface ComparedTypes {
  /** The types that the endpoint is subscribed to. */
  readonly subscribed: readonly string[];
  /** The result of `wantedTypes`. */
  readonly wanted: WantedTypes;
  /** The types that the service offers. */
  readonly offered: readonly string[];
}

/** Compares the event types of an endpoint with those that are wanted, with the receiver's catalog and with the service's. */
export function compareTypes({ subscribed, wanted, offered }: ComparedTypes): EndpointFinding[] {
  const { names, areHandlers, known } = wanted;
  const isWanted = (type: string) => isTaken(names, type);
  const missing = offered.filter((type) => isWanted(type) && !subscribed.includes(type));
  const anywhere = [...offered, ...subscribed];
  const notOffered = names.filter((name) => !anywhere.some((type) => takes(name, type)));
  const retired = subscribed.filter((type) => !offered.includes(type));
  const surplus = subscribed.filter((type) => offered.includes(type) && !isWanted(type));
  const findings = [
    finding(
      "not_subscribed",
      missing,
      areHandlers
        ? (types) => `The endpoint is not subscribed to ${types}, which handlers take: they never run for it.`
        : (types) => `The endpoint is not subscribed to ${types}: no such event comes.`,
      "The API cannot change an endpoint. Replace it with one that is subscribed: replaceEndpoint does so.",
    ),
    finding(
      "not_offered",
      notOffered,
      (types) => `The service does not offer ${types}: no such event comes.`,
      `Correct the name, or remove it. ${suggest(notOffered[0] ?? "", offered)}`,
    ),
    finding(
      "retired",
      retired,
      (types) =>
        `The endpoint is subscribed to ${types}, which the service no longer offers: no such event comes.`,
      "Read the service's announcements for its replacement. api.catalog.webhookEventTypes lists what it offers.",
    ),
  ];
  const unneeded = areHandlers
    ? [
        finding(
          "no_handler",
          surplus.filter((type) => known.includes(type)),
          (types) =>
            `The endpoint is subscribed to ${types}, but no handler takes such events: they have no effect.`,
          "Add a handler, or replace the endpoint with one that is not subscribed: replaceEndpoint does so.",
        ),
        finding(
          "not_in_catalog",
          surplus.filter((type) => !known.includes(type)),
          (types) =>
            `The endpoint is subscribed to ${types}, which the receiver's catalog does not have and no handler takes: such events have no effect.`,
          'Add a schema with defineCatalog, and a handler. A handler of "*" takes such events without a schema.',
        ),
      ]
    : [
        finding(
          "not_wanted",
          surplus,
          (types) => `The endpoint is subscribed to ${types}, which the wanted event types do not include.`,
          "Add it to them, or replace the endpoint with one that is not subscribed: replaceEndpoint does so.",
        ),
      ];
  return [...findings, ...unneeded].filter(({ about }) => about.length > 0);
}

function finding(
  code: EndpointFindingCode,
  about: readonly string[],
  problem: (types: string) => string,
  remedy: string,
): EndpointFinding {
  return { code, about, problem: problem(listed(about)), remedy };
}

/** `a, b and c`. */
export function listed(names: readonly string[]): string {
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}
