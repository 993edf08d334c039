import { once } from "node:events";
import {
  type DedupeStore,
  type Handlers,
  type InboxQueue,
  type InboxWriter,
  type Logger,
  type NodeHandler,
  nodeHandler,
} from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/kit";
import type { SetUpFlags } from "../flags/set-up-flags.ts";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { stopSignal } from "../program/stopping.ts";
import { type OpenTarget, openTarget } from "../set-up/open-target.ts";
import { portOf, readSetUp, type SetUp } from "../set-up/set-up.ts";
import { startWorker, withHandlers } from "../work/start-worker.ts";
import { listen } from "./listener.ts";

export interface ServeFlags extends SetUpFlags {
  readonly port?: number;
  readonly host?: string;
  readonly path?: string;
  readonly json?: boolean;
}

/** Receives deliveries until it is stopped by a signal. */
export async function serve(this: CliContext, flags: ServeFlags): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const { config } = setUp;
  const port = flags.port ?? portOf(this.process.env["PORT"]) ?? config.port ?? 3000;
  const host = flags.host ?? config.host ?? "127.0.0.1";
  const path = flags.path ?? config.path ?? "/webhooks";
  const logger = commandLogger(dataLines(this.output, flags));

  // reports a mistake in the options before anything is opened
  receiver(setUp.handlers ? { handlers: setUp.handlers } : { inbox: unusedInbox }, setUp, logger);
  const target = await openTarget(setUp);
  try {
    const receive = receiver(target, setUp, logger);
    const worker = handledHere(target, setUp) && startWorker(target.inbox, withHandlers(setUp), logger);
    const listening = await listen(receive, { host, port, path, logger });
    const stop = stopSignal(this.output);
    this.output.note(`Listening at ${this.output.styleNote("bold", listening.url)}`);
    this.output.note(destination(target, setUp));

    const working = worker ? worker.run(stop.signal) : undefined;
    await once(stop.signal, "abort");
    await Promise.all([listening.close(receive.close()), working]);
    stop.release();
  } finally {
    await target.close();
  }
}

type Receiving =
  | { readonly inbox: Pick<InboxWriter, "put"> }
  | { readonly handlers: Handlers<unknown>; readonly store?: DedupeStore };

const unusedInbox: Pick<InboxWriter, "put"> = { put: async () => [] };

function receiver(target: Receiving, { secret, catalog, source }: SetUp, logger: Logger): NodeHandler {
  const options = { ...(secret !== undefined && { secret }), ...(catalog && { catalog }), source, logger };
  return "inbox" in target
    ? nodeHandler<unknown>(target.inbox, options)
    : nodeHandler<unknown>(target.handlers, { ...options, ...(target.store && { store: target.store }) });
}

type SingleProcessTarget = Extract<OpenTarget, { inbox: unknown }> & { readonly inbox: InboxQueue };

/** Whether no other process can open the inbox, so that this one has to run the handlers. */
function handledHere(target: OpenTarget, { handlers }: SetUp): target is SingleProcessTarget {
  if (!("inbox" in target) || handlers === undefined) return false;
  return hasRole(target.inbox, "queue") && !target.inbox.capabilities.multiProcess;
}

function destination(target: OpenTarget, setUp: SetUp): string {
  if (!("inbox" in target)) return `Events are handled as they arrive, by ${target.where}.`;
  return `Events are stored in ${target.where}. ${nextStep(target, setUp)}`;
}

function nextStep(target: Extract<OpenTarget, { inbox: unknown }>, setUp: SetUp): string {
  if (handledHere(target, setUp)) return "It is for one process, so the handlers run in this one.";
  if (!hasRole(target.inbox, "queue")) return "Its own consumers process them.";
  return setUp.handlers === undefined
    ? "To process them, add handlers to a config file."
    : "To process them, run: esim-webhooks work";
}
