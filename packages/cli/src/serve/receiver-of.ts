import {
  type DedupeStore,
  type Handlers,
  type InboxWriter,
  type Logger,
  memoryStore,
  type NodeHandler,
  nodeHandler,
} from "@esim-webhooks/core";
import { requiredSecret } from "../set-up/known-secrets.ts";
import { naming } from "../set-up/naming.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** What a receiver accepts into. */
export type Receiving =
  | { readonly inbox: Pick<InboxWriter, "put"> }
  | { readonly handlers: Handlers<unknown>; readonly store?: DedupeStore };

/** The receiver of a set-up. Its errors name the config file. */
export function receiverOf(target: Receiving, { config, ...setUp }: SetUp, logger: Logger): NodeHandler {
  const { catalog, source, file } = setUp;
  const secret = requiredSecret({ config, ...setUp });
  const options = { ...config.receiver, secret, ...(catalog && { catalog }), source, logger };
  return naming(file, () =>
    "inbox" in target
      ? nodeHandler<unknown>(target.inbox, options)
      : nodeHandler<unknown>(target.handlers, { ...options, ...(target.store && { store: target.store }) }),
  );
}

/** Throws what is wrong with the options of the receiver, but for what depends on the store, which is not open yet. */
export function checkReceiver(setUp: SetUp, logger: Logger): void {
  const { handlers } = setUp;
  receiverOf(handlers ? { handlers, store: unusedStore } : { inbox: unusedInbox }, setUp, logger);
}

const capabilities = {
  durable: true,
  multiProcess: true,
  transactional: false,
  retentionMs: Number.POSITIVE_INFINITY,
} as const;

const unusedStore: DedupeStore = { ...memoryStore(), capabilities };
const unusedInbox = { capabilities, put: async () => [] };
