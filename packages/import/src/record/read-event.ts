import { type Catalog, type Issue, type Logger, type Parsed, WebhookError } from "@esim-webhooks/core";
import { eventOf } from "@esim-webhooks/core/kit";
import type { DumpedEvent } from "./dumped-event.ts";

/**
 * Checks dumped events against the catalog. An event whose schema throws counts as invalid, and the import continues.
 * Throws `async_schema` for a schema that is asynchronous.
 */
export function createEventReader(
  catalog: Catalog<unknown>,
  logger: Logger,
): (event: DumpedEvent) => Parsed<Record<string, unknown>> {
  return (event) => {
    try {
      return catalog.check(eventOf(event.id, event.payload)) as Parsed<Record<string, unknown>>;
    } catch (err) {
      if (WebhookError.is(err)) throw err;
      const { id, type } = event;
      logger.error({ err, id, type }, "A schema threw: the event counts as invalid.");
      return { kind: "invalid", type, event: null, issues: [{ path: "", message: "its schema threw" }] };
    }
  };
}

/** The paths of the issues, without the schema's messages: they may quote personal data. */
export function describePaths(issues: readonly Issue[]): string {
  const paths = issues.map(({ path }) => path || "the event").slice(0, 10);
  return `it does not match its schema, at ${paths.join(", ")}`;
}
