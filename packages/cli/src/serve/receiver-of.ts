import {
  type DedupeStore,
  type Handlers,
  type InboxWriter,
  type Logger,
  memoryStore,
  type NodeHandler,
  nodeHandler,
} from "@esim-webhooks/core";
import type { DriftWatch } from "@esim-webhooks/core/drift";
import { silentLogger } from "@esim-webhooks/core/internal";
import { naming } from "../program/naming.ts";
import { requiredSecret } from "../set-up/known-secrets.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** The target of a receiver. */
export type Receiving =
  | { readonly inbox: Pick<InboxWriter, "put"> }
  | { readonly handlers: Handlers<unknown>; readonly store?: DedupeStore };

/** The receiver of a set-up. Its errors name the config file, and its log lines name options as they are in that file. */
export function receiverOf(
  target: Receiving,
  { config, ...setUp }: SetUp,
  logger: Logger,
  drift?: DriftWatch,
): NodeHandler {
  const { catalog, source, file } = setUp;
  const { endpoints } = config;
  const options = {
    ...(drift && { drift }),
    ...config.receiver,
    ...(endpoints ? { endpoints } : { secret: requiredSecret({ config, ...setUp }), source }),
    ...(catalog && { catalog }),
    logger: namingOptions(logger),
  };
  return naming(file, () =>
    "inbox" in target
      ? nodeHandler<unknown>(target.inbox, options)
      : nodeHandler<unknown>(target.handlers, { ...options, ...(target.store && { store: target.store }) }),
  );
}

const optionNames = /\b(?:maxBodyBytes|maxUnverifiedBytes|bodyTimeoutMs|toleranceSeconds)\b/g;

/** Writes the options in a reason as the config has them: `receiver.maxBodyBytes`. */
function namingOptions(logger: Logger): Logger {
  const at =
    (level: "debug" | "info" | "warn" | "error"): Logger["info"] =>
    (fields, message) => {
      const { reason } = fields;
      logger[level](
        typeof reason === "string"
          ? { ...fields, reason: reason.replace(optionNames, "receiver.$&") }
          : fields,
        message,
      );
    };
  return { ...logger, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/**
 * Throws if options of the receiver are wrong, except for those that depend on the store, which is not open yet. Logs no warnings: the
 * real receiver does.
 */
export function checkReceiver(setUp: SetUp): void {
  const { handlers } = setUp;
  receiverOf(handlers ? { handlers, store: unusedStore } : { inbox: unusedInbox }, setUp, silentLogger);
}

const capabilities = {
  durable: true,
  multiProcess: true,
  transactional: false,
  retentionMs: Number.POSITIVE_INFINITY,
} as const;

const unusedStore: DedupeStore = { ...memoryStore(), capabilities };
const unusedInbox = { capabilities, put: async () => [] };
