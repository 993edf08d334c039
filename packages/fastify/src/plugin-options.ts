import {
  createReceiver,
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  type Logger,
  type Receiver,
  type ReceiverOptions,
  type Target,
  WebhookError,
} from "@esim-webhooks/core";
import { isInbox, parseOptions } from "@esim-webhooks/core/engine";
import { checkArguments, processorShape } from "@esim-webhooks/core/internal";

/** `handlers` or an `inbox`, and the options of every receiver; or a `receiver` that was made with them. */
export interface WebhookPluginOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /**
   * The receiver of `createReceiver(handlers, options)` of core, in place of `handlers` or `inbox` and all options of receivers: for
   * `readinessHandler({ receiver })`. Default: the plugin makes one.
   */
  receiver?: Receiver;
  /** Handles events inline. Either this or `inbox`. */
  handlers?: NoInfer<Handlers<Data, Tx>>;
  /** Stores events, for workers. Either this or `handlers`. */
  inbox?: Pick<InboxWriter, "put">;
  /** Gets the log lines, which have the shape of pino's. Default: `app.log`. */
  logger?: Logger;
  /** The endpoint's path below the plugin's prefix. With `endpoints`, the plugin answers all requests below it. Default `"/webhooks"`. */
  path?: string;
}

const where = "webhookPlugin";

/** Options that are not the receiver's: of the plugin, and Fastify's own. */
const ownOptions = ["path", "prefix", "logLevel", "logSerializers"];

/** Returns the receiver in the options, or makes one from the other options. Throws like `createReceiver`. */
export function receiverOf(options: WebhookPluginOptions): Receiver {
  const { receiver } = options;
  if (receiver === undefined)
    return createReceiver(targetOf(options), options, [...ownOptions, "receiver", "handlers", "inbox"]);
  const remedy =
    "Pass { receiver: createReceiver(handlers, options) }, with all options of the receiver in that call.";
  const isElsewhere = (name: string) => ![...ownOptions, "receiver", "logger"].includes(name);
  const others = Object.entries(options).filter(([name, value]) => value !== undefined && isElsewhere(name));
  if (others.length > 0)
    throw invalidPluginOption(
      `there is a receiver and also ${others.map(([name]) => `"${name}"`).join(", ")}.`,
      remedy,
    );
  if (typeof receiver.receive !== "function")
    throw invalidPluginOption("the receiver has no receive(), so it is not a receiver.", remedy);
  parseOptions(where, { logger: processorShape.logger }, { logger: options.logger });
  return receiver;
}

const usage =
  "Wrap one of them: { handlers } handles events inline, { inbox } stores them for createWorker(inbox, handlers).";

function targetOf({ handlers, inbox }: WebhookPluginOptions): Target {
  checkArguments(where, { handlers: [handlers, "a map of handlers"], inbox: [inbox, "an inbox"] }, usage);
  if (handlers !== undefined && inbox !== undefined)
    throw invalidPluginOption("there are both handlers and an inbox.", usage);
  if (inbox !== undefined && !isInbox(inbox))
    throw invalidPluginOption("the inbox has no put(), so it is not an inbox.", usage);
  const target = handlers ?? inbox;
  if (target === undefined) throw invalidPluginOption("there are neither handlers nor an inbox.", usage);
  return target;
}

/** The error of a wrong set-up. */
export function invalidPluginOption(problem: string, remedy: string): WebhookError {
  return new WebhookError("invalid_option", problem, remedy, { where });
}
