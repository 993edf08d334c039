import type { Handlers, Inbox, InboxWriter } from "@esim-webhooks/core";
import type { OpenTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** The target and its options for `importDeliveries`. */
export interface ImportTarget {
  readonly target: Pick<InboxWriter, "put"> | Handlers<unknown>;
  readonly options: { readonly store?: Extract<OpenTarget, { store: unknown }>["store"] };
}

export function importTarget(open: OpenTarget): ImportTarget {
  if ("inbox" in open) return { target: open.inbox, options: {} };
  return { target: open.handlers, options: { store: open.store } };
}

/** The target of a dry run, which calls none of its functions: nothing is opened. */
export function untouchedTarget({ config, handlers }: SetUp): ImportTarget {
  if (config.target === undefined && handlers !== undefined) return { target: handlers, options: {} };
  const refuse = () => Promise.reject(new Error("A dry run called its target."));
  const untouched: Pick<Inbox, "put" | "rerun"> = { put: refuse, rerun: refuse };
  return { target: untouched, options: {} };
}
