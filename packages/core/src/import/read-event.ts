import type { Catalog, Parsed } from "../catalog.ts";
import { WebhookError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Verdict } from "./destination.ts";
import type { DumpedEvent } from "./dumped-event.ts";

/**
 * What the catalog says of a dumped event. A schema that throws has no say in whether the import goes on, but one that
 * is not set up right has (`async_schema`).
 */
export function createEventReader(
  catalog: Catalog<unknown>,
  logger: Logger,
): (event: DumpedEvent) => Parsed<Record<string, unknown>> {
  return ({ id, type, payload }) => {
    try {
      return catalog.check({ ...envelopeOf(payload), id }) as Parsed<Record<string, unknown>>;
    } catch (err) {
      if (WebhookError.is(err)) throw err;
      logger.error({ err, id, type }, "A schema threw: the event counts as invalid.");
      return { kind: "invalid", id, ...(type !== null && { type }), issues: [{ path: "", message: "its schema threw" }] };
    }
  };
}
