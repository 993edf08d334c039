import type { Handlers, Inbox, InboxWriter } from "@esim-webhooks/core";
import type { OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** Where a dump goes, as `importDeliveries` takes it. */
export interface ImportTarget {
  readonly target: Pick<InboxWriter, "put"> | Handlers<unknown>;
  readonly options: { readonly store?: Extract<OpenTarget, { store: unknown }>["store"] };
}

export function importTarget(open: OpenTarget): ImportTarget {
  if ("inbox" in open) return { target: open.inbox, options: {} };
  return { target: open.handlers, options: { store: open.store } };
}

/** What would be imported into, with nothing opened: a dry run touches none of it. */
export function untouchedTarget({ config, handlers }: SetUp): ImportTarget {
  if (config.target === undefined && handlers !== undefined) return { target: handlers, options: {} };
  const refuse = () => Promise.reject(new Error("A dry run came to its target."));
  const untouched: Pick<Inbox, "put" | "rerun"> = { put: refuse, rerun: refuse };
  return { target: untouched, options: {} };
}
