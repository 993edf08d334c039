import { type Catalog, type Issue, type Logger, type Parsed, WebhookError } from "@esim-webhooks/core";
import { type DumpedEvent, eventOf } from "./dumped-event.ts";

/**
 * What the catalog says of a dumped event. A schema that throws has no say in whether the import goes on, but one that
 * is not set up right has (`async_schema`).
 */
export function createEventReader(
  catalog: Catalog<unknown>,
  logger: Logger,
): (event: DumpedEvent) => Parsed<Record<string, unknown>> {
  return (event) => {
    try {
      return catalog.check(eventOf(event)) as Parsed<Record<string, unknown>>;
    } catch (err) {
      if (WebhookError.is(err)) throw err;
      const { id, type } = event;
      logger.error({ err, id, type }, "A schema threw: the event counts as invalid.");
      return { kind: "invalid", type, event: null, issues: [{ path: "", message: "its schema threw" }] };
    }
  };
}

/** By path alone: a schema's messages may quote personal data. */
export function describeIssues(issues: readonly Issue[]): string {
  const paths = issues.map(({ path }) => path || "the event").slice(0, 10);
  return `it is not what its schema says, at ${paths.join(", ")}`;
}
