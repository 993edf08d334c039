import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger, NodeHandler } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/kit";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { type OpenInbox, type OpenTarget, openQueueOf, openTarget } from "../set-up/open-target.ts";
import { portOf, readSetUp, type SetUp } from "../set-up/set-up.ts";
import { leftBehindNote, waitingNote } from "../set-up/waiting.ts";
import { startWorker, withHandlers } from "../work/start-worker.ts";
import { checkReceiver, receiverOf } from "./receiver-of.ts";

export interface ServeFlags extends SetUpFlags {
  readonly port?: number;
  readonly host?: string;
  readonly path?: string;
  readonly json?: boolean;
}

/** Receives deliveries, and processes the events of its inbox if there are handlers, until it is stopped by a signal. */
export async function serve(this: CliContext, flags: ServeFlags): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const { config } = setUp;
  const port = flags.port ?? portOf(this.process.env["PORT"]) ?? config.port ?? 3000;
  const host = flags.host ?? config.host ?? "127.0.0.1";
  const path = flags.path ?? config.path ?? "/webhooks";
  const logger = commandLogger(dataLines(this.output, flags));

  checkReceiver(setUp); // before anything is opened
  const target = await openTarget(setUp);
  const queue = await openQueueOf(target, setUp).catch(async (error: unknown) => {
    await target.close();
    throw error;
  });
  try {
    const receive = receiverOf(target, setUp, logger);
    const waiting = await waitingFor(target, queue, setUp);
    const worker = queue && startWorker(queue.inbox, withHandlers(setUp), logger);
    const listening = await listen(receive, { host, port, path, logger });
    const stop = stopSignal(this.output);
    this.output.note(`Listening at ${this.output.styleNote("bold", listening.url)}`);
    this.output.note(destination(target, setUp, queue !== undefined));
    if (waiting !== undefined) this.output.note(waiting);

    const working = worker?.run(stop.signal);
    await once(stop.signal, "abort");
    await Promise.all([listening.close(receive.close()), working]);
    stop.release();
  } finally {
    await queue?.close();
    await target.close();
  }
}

/** What was stored before, and waits. */
async function waitingFor(
  target: OpenTarget,
  queue: OpenInbox<object> | undefined,
  setUp: SetUp,
): Promise<string | undefined> {
  const inbox = queue?.inbox ?? ("inbox" in target ? target.inbox : undefined);
  return inbox === undefined ? leftBehindNote(setUp) : waitingNote(inbox, queue?.where ?? target.where);
}

function destination(target: OpenTarget, { file, handlers }: SetUp, worksInbox: boolean): string {
  if (!("inbox" in target)) {
    const waiting = worksInbox ? " Events that are stored there are processed too." : "";
    return `Events are handled as they arrive, by ${target.where}.${waiting}`;
  }
  const stored = `Events are stored in ${target.where}.`;
  if (worksInbox)
    return `${stored} The handlers in ${file} process them here; for more workers, run: esim-webhooks work`;
  if (hasRole(target.inbox, "queue")) return `${stored} To process them, add handlers to a config file.`;
  const unused = handlers === undefined ? "" : `, and the handlers in ${file} do not run here`;
  return `${stored} Its own consumers process them${unused}.`;
}

export interface Listening {
  /** The URL for deliveries. */
  readonly url: string;
  /** Accepts no more connections. Waits for `answered`, then at most one second for the open connections, and closes them. */
  close(answered: Promise<unknown>): Promise<void>;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly logger: Logger;
}

/** Listens, and passes requests for `path` to the receiver. Throws `cannot_listen`. */
export async function listen(receive: NodeHandler, options: ListenerOptions): Promise<Listening> {
  const { host, port, path, logger } = options;
  const answer: RequestListener = (request, response) => {
    const requested = withoutSlash((request.url ?? "").replace(/\?.*/s, ""));
    if (requested === withoutSlash(path)) return receive(request, response);
    logger.warn(
      { outcome: "no_such_path", path: requested.slice(0, 100) },
      `Deliveries are accepted at ${path}.`,
    );
    response.writeHead(404, { "content-type": "text/plain" }).end(`Deliveries are accepted at ${path}.\n`);
  };
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new ProgramError(
      "cannot_listen",
      `Cannot listen on ${host}, port ${port}.`,
      "Choose a free port with --port (0: any), or an address of this machine with --host.",
      { cause },
    );
  }
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}${path}`,
    async close(answered) {
      const closed = once(server, "close");
      server.close();
      await answered;
      const cut = setTimeout(() => server.closeAllConnections(), 1000);
      await closed;
      clearTimeout(cut);
    },
  };
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}
