import type {
  Handlers,
  Inbox,
  InboxWriter,
  KeySource,
  LoadedKeys,
  Secret,
  Secrets,
} from "@esim-webhooks/core";
import type { OpenTarget } from "../open-target.ts";
import type { SetUp } from "../set-up.ts";

/** Where a dump goes, as `importDeliveries` takes it. */
export interface ImportTarget {
  readonly target: InboxWriter | Handlers<unknown>;
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

/** A dump is verified with the keys that there are now: a key source is asked once. */
export async function currentSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (!isKeySource(secret)) return secret;
  const loaded = await secret.load();
  return Array.isArray(loaded) ? loaded : (loaded as LoadedKeys).keys;
}

function isKeySource(secret: Secret | undefined): secret is KeySource {
  return typeof secret === "object" && secret !== null && "load" in secret;
}
