import { type Catalog, type Issue, type Logger, type Parsed, WebhookError } from "@esim-webhooks/core";
import { eventOf } from "@esim-webhooks/core/kit";
import type { DumpedEvent } from "./dumped-event.ts";

/** What the catalog says of an event. `threw`: its schema threw, so a handler cannot run, and the event can be tried again. */
export type ReadEvent =
  | Parsed<Record<string, unknown>>
  | { readonly kind: "threw"; readonly type: string | null; readonly event: null };

/**
 * Checks dumped events against the catalog. An event whose schema throws is `threw`, and the import continues.
 * Throws `async_schema` for a schema that is asynchronous.
 */
export function createEventReader(
  catalog: Catalog<unknown>,
  logger: Logger,
): (event: DumpedEvent) => ReadEvent {
  return (event) => {
    try {
      return catalog.check(eventOf(event.id, event.payload)) as Parsed<Record<string, unknown>>;
    } catch (err) {
      if (WebhookError.is(err)) throw err;
      const { id, type } = event;
      logger.error({ err, id, type }, "The schema of the event threw.");
      return { kind: "threw", type, event: null };
    }
  };
}

/** The paths of the issues, without the schema's messages: they may quote personal data. */
export function describePaths(issues: readonly Issue[]): string {
  const paths = issues.map(({ path }) => path || "the event").slice(0, 10);
  return `it does not match its schema, at ${paths.join(", ")}`;
}
