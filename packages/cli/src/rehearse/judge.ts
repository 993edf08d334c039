import {
  type Catalog,
  createProcessor,
  esimCatalog,
  type Handlers,
  type Issue,
  type Logger,
} from "@esim-webhooks/core";
import { naming } from "../program/naming.ts";
import type { WorkingSetUp } from "../work/worker-of.ts";

/** The result of an event under a config. */
export interface Verdict {
  readonly outcome: "handled" | "invalid" | "unknown" | "unhandled";
  readonly type: string | null;
  /** Why the event is invalid, without its values; else empty. */
  readonly why: string;
}

/** Says what a config would do with an event. */
export type Judge = (id: string, body: Uint8Array) => Promise<Verdict>;

const nothing = () => {};
const quiet: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** A judge by the catalog and the handlers of a config. It calls none of the handlers: each is replaced by one that does nothing. Throws as `createProcessor` does. */
export function createJudge({ file, handlers, ...setUp }: WorkingSetUp): Judge {
  const catalog = setUp.catalog ?? (esimCatalog as Catalog<unknown>);
  const unused = Object.fromEntries(Object.keys(handlers).map((type) => [type, nothing]));
  const processor = naming(file, () =>
    createProcessor<unknown>(unused as Handlers<unknown>, { catalog, logger: quiet }),
  );

  return async (id, body) => {
    const parsed = parse(id, body);
    if (parsed === undefined) return { outcome: "invalid", type: null, why: "its schema throws" };
    const { type } = parsed;
    const outcome = await processor.accept(parsed as never);
    if (outcome.code === "invalid") return { outcome: "invalid", type, why: whyOf(outcome.issues) };
    if (outcome.code === "unknown_type") return { outcome: "unknown", type, why: "" };
    return { outcome: outcome.code === "unhandled_type" ? "unhandled" : "handled", type, why: "" };
  };

  function parse(id: string, body: Uint8Array) {
    try {
      return catalog.parse(id, body);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === "async_schema") throw error;
      return undefined; // as in a receiver, the delivery fails
    }
  }
}

/** Only messages of fixed text are shown: the message of a partner's own schema may quote values of the event. */
function whyOf(issues: readonly Issue[]): string {
  return issues
    .map(({ path, message, isFixedText }) => {
      const rule = isFixedText ? message : "does not fit the schema";
      return path ? `${path}: ${rule}` : rule;
    })
    .join("; ");
}
