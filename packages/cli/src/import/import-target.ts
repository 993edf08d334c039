import type { Handlers, InboxWriter } from "@esim-webhooks/core";
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

/** The target of a dry run, which calls none of its functions: nothing is opened. It has the roles of the real one. */
export function untouchedTarget({ config, handlers }: SetUp): ImportTarget {
  if (config.target !== undefined) return { target: config.target, options: {} };
  return { target: handlers ?? untouchedInbox, options: {} };
}

const refuse = () => Promise.reject(new Error("A dry run called its target."));

/** In place of the default inbox, which has every role. */
const untouchedInbox = { put: refuse, rerun: refuse, capabilities: { roles: ["writer", "rerun"] } };
