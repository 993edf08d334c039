import type { RequestListener } from "node:http";
import type { Logger, NodeHandler } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/internal";
import { createRunner } from "@esim-webhooks/core/run";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { type OpenServer, openServer, requestedPath, withoutSlash } from "../program/http-server.ts";
import { stopSignal } from "../program/stopping.ts";
import { withDefer } from "../program/with-defer.ts";
import { openDrift } from "../set-up/drift-state.ts";
import { hiddenSecretNote } from "../set-up/known-secrets.ts";
import { type OpenTarget, openQueueOf, openTarget } from "../set-up/open-target.ts";
import { portOf, readSetUp, type SetUp } from "../set-up/set-up.ts";
import { leftBehindNote, waitingNote } from "../set-up/waiting.ts";
import { exportTelemetry } from "../telemetry/export.ts";
import { checkMetricsFlags, serveMetrics } from "../telemetry/metrics-server.ts";
import { logTroubles } from "../telemetry/watched.ts";
import { withHandlers, workerOf } from "../work/worker-of.ts";
import type { ServeFlags } from "./flags.ts";
import { checkReceiver, receiverOf } from "./receiver-of.ts";

/** Receives deliveries, and processes the events of its inbox if there are handlers, until the command is stopped. */
export async function serve(this: CliContext, flags: ServeFlags): Promise<void> {
  checkMetricsFlags(flags);
  const setUp = await readSetUp(this, flags);
  const { config } = setUp;
  const port = flags.port ?? portOf(this.process.env["PORT"]) ?? config.port ?? 3000;
  const host = flags.host ?? config.host ?? "127.0.0.1";
  const path = flags.path ?? config.path ?? "/webhooks";
  const logger = commandLogger(dataLines(this.output, flags));

  checkReceiver(setUp); // before anything is opened
  await withDefer(async (defer) => {
    const target = await openTarget(setUp);
    defer(target.close);
    const queue = await openQueueOf(target, setUp);
    if (queue !== undefined) defer(queue.close);
    const inbox = queue?.inbox ?? ("inbox" in target ? target.inbox : undefined);
    const store = "store" in target ? target.store : undefined;
    const drift = await openDrift(setUp, logger);
    if (drift !== undefined) defer(drift.close);
    const receiver = receiverOf(target, setUp, logger, drift?.watch);
    const worker = queue && workerOf(queue.inbox, withHandlers(setUp), logger);
    const waiting = await (inbox === undefined
      ? leftBehindNote(setUp)
      : waitingNote(inbox, queue?.where ?? target.where)); // the events that were stored before
    const { toleranceSeconds, deadlineMs } = config.receiver ?? {};
    const runner = createRunner({
      ...{ receiver, worker, inbox, store, logger },
      ...{ drainMs: flags.drain, shutdownMs: deadlineMs },
    });
    const stop = stopSignal(this);
    const watched = { inbox, worker, catalog: setUp.catalog };
    defer(await exportTelemetry(this, watched));
    // an inbox next to the store of inline handlers gets no deliveries
    const troubled = "inbox" in target ? watched : { ...watched, inbox: undefined };
    defer(logTroubles(troubled, logger, toleranceSeconds));
    defer(await serveMetrics(flags, watched, runner, this.output)); // before the receiver listens: if this port is taken, no delivery was accepted
    const isPrefix = config.endpoints !== undefined;
    const { url, server } = await listen(receiver, {
      ...{ host, port, path, isPrefix, logger },
      keepAliveMs: flags.keepAlive,
    });
    this.output.note(`Listening at ${this.output.styleNote("bold", `${url}${path}`)}`);
    this.output.note(destination(target, setUp, queue !== undefined));
    const hidden = hiddenSecretNote(setUp);
    if (hidden !== undefined) this.output.note(hidden);
    if (waiting !== undefined) this.output.note(waiting);

    // every connection is the sender's, so none is needed once all answers are sent
    const closeIdleConnections = () => server.closeAllConnections();
    const closable = {
      close: (done: () => void) => server.close(done),
      closeIdleConnections,
      closeAllConnections: closeIdleConnections,
      prependListener: server.prependListener.bind(server),
    };
    await runner.run({ signal: stop.signal, server: closable });
    await receiver.close(); // waits for handlers that are late: a second signal ends the process without them
    stop.release();
  });
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

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Whether the receiver also gets requests below `path`: it has `endpoints`, which find an endpoint by the rest of the path. */
  readonly isPrefix: boolean;
  /** How long a connection stays open after an answer. */
  readonly keepAliveMs: number;
  readonly logger: Logger;
}

/** Listens, and passes requests for `path` to the receiver, with the rest of the path as their URL. Throws `cannot_listen`. */
export async function listen(
  receive: NodeHandler,
  { host, port, path, isPrefix, keepAliveMs, logger }: ListenerOptions,
): Promise<OpenServer> {
  const mount = withoutSlash(path);
  const below = mount === "/" ? mount : `${mount}/`;
  const answer: RequestListener = (request, response) => {
    const requested = requestedPath(request.url);
    if (requested === mount || (isPrefix && requested.startsWith(below))) {
      request.url = requested.slice(below.length - 1) || "/";
      return receive(request, response);
    }
    logger.warn(
      { outcome: "no_such_path", path: requested.slice(0, 100) },
      `Deliveries are accepted at ${path}.`,
    );
    response.writeHead(404, { "content-type": "text/plain" }).end(`Deliveries are accepted at ${path}.\n`);
  };
  const opened = await openServer(answer, { host, port, flags: { host: "--host", port: "--port" } });
  opened.server.keepAliveTimeout = keepAliveMs; // longer than headersTimeout is fine: that begins with a request's first byte
  return opened;
}
