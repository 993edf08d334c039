import { suggest } from "@esim-webhooks/core/kit";
import type { EndpointFinding, EndpointFindingCode } from "./finding.ts";
import { isTaken, takes, type WantedTypes } from "./wanted.ts";

/** The event types that are compared. */
export interface ComparedTypes {
  /** Those of the endpoint. */
  readonly subscribed: readonly string[];
  readonly wanted: WantedTypes;
  /** Those of the service. */
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
      "Read the service's announcements for what came in its place. api.catalog.webhookEventTypes lists what it offers.",
    ),
  ];
  const unneeded = areHandlers
    ? [
        finding(
          "no_handler",
          surplus.filter((type) => known.includes(type)),
          (types) =>
            `The endpoint is subscribed to ${types}, but no handler takes such events: they are acknowledged for nothing.`,
          "Add a handler, or replace the endpoint with one that is not subscribed: replaceEndpoint does so.",
        ),
        finding(
          "not_in_catalog",
          surplus.filter((type) => !known.includes(type)),
          (types) =>
            `The endpoint is subscribed to ${types}, which the receiver's catalog does not have and no handler takes: such events are acknowledged for nothing.`,
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
