import { once } from "node:events";
import * as z from "zod/mini";
import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import {
  durationMs,
  hasMethod,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import { createDeadline } from "../base/waiting.ts";
import type { HealthHandler } from "../health/health.ts";
import { type LivenessHandler, livenessHandler, type WatchedInbox } from "../health/liveness.ts";
import { readinessHandler, storeOption } from "../health/readiness.ts";
import type { Receiver } from "../receive/delivery.ts";
import type { Lifecycle } from "../store/lifecycle.ts";
import type { Worker } from "../work/worker.ts";
import { type ClosableHttp2Server, type ClosableServer, closeServer, watchServer } from "./close-server.ts";
import { watchLeftBehind } from "./left-behind.ts";

export type { ClosableHttp2Server, ClosableServer } from "./close-server.ts";

/** The parts of a process. Each one can be left out. */
export interface RunnerOptions {
  /** The receiver that `webhookRouter`, `nodeHandler`, `webhookHandler` or `createReceiver` returned; several as a list. */
  receiver?: Pick<Receiver, "ready" | "close"> | readonly Pick<Receiver, "ready" | "close">[] | undefined;
  /** The worker of this process. */
  worker?: Pick<Worker, "run" | "sinceLastTakeMs" | "isHealthy"> | undefined;
  /** The reconciler of this process, as `createReconciler` returned it. */
  reconciler?: Pick<Worker, "run"> | undefined;
  /** The inbox, for the probes. */
  inbox?: Pick<Lifecycle, "ready"> | undefined;
  /** The dedupe store of the handlers, for the readiness probe. */
  store?: Pick<Lifecycle, "ready"> | undefined;
  /**
   * How long the receiver still accepts deliveries after the signal to stop, in ms, while the process is not ready any more: the time in which a
   * load balancer notices that. During it, each answer asks its client for another connection. `shutdownMs` begins after this time. If a part of
   * the process fails, this time is skipped. Default 0.
   */
  drainMs?: number | undefined;
  /**
   * How long accepted deliveries may take to end after the signal to stop and `drainMs`, in ms. After the receiver's `deadlineMs`, every sender
   * has its answer. Deliveries that take longer than `shutdownMs` are left running: `run` resolves, and the resources in `close` are closed once
   * these deliveries have ended. A worker has a `shutdownMs` of its own. Default 25,000.
   */
  shutdownMs?: number | undefined;
  /**
   * Gets a line when a health check begins to fail or passes again, when a part of the process fails, when a delivery does not end in time,
   * and when an error that a handler left behind, and no code catches, ends the process. Default: silent.
   */
  logger?: Logger;
}

/** When a process stops, and what is closed then. */
export interface RunOptions {
  /** Aborts when the process should stop, like the signal of `worker.run`. */
  signal: AbortSignal;
  /**
   * The server of the receiver: of `node:http`, `node:https` or `node:http2`, or `app.server` of Fastify, to pass before its first connection.
   * When the process stops, the server accepts no more connections, and requests that are no deliveries may last until `shutdownMs`.
   */
  server?: ClosableServer | ClosableHttp2Server;
  /**
   * Resources to close at the end, one after the other, such as the inbox: each also if another one fails. One that takes longer than 10 s, or
   * than `shutdownMs` if that is longer, is given up.
   */
  close?: readonly Pick<Lifecycle, "close">[];
}

/** A process of a receiver, a worker and a reconciler, as `createRunner` makes it. */
export interface Runner {
  /** Answers whether this process can do its work now, as `readinessHandler` does. A process that stops is not ready. */
  readonly readiness: HealthHandler;
  /** Answers whether this process should be restarted, as `livenessHandler` does. */
  readonly liveness: LivenessHandler;
  /**
   * Runs the worker and the reconciler until `signal` aborts. Then the process is not ready, and the worker takes no more events. After `drainMs`,
   * the server accepts no more connections, and the receiver answers 503. `run` waits until the worker and the accepted deliveries have ended,
   * closes the resources in `close`, and resolves. Call it once. When the worker or the reconciler ends or fails, the process stops in the same
   * way, without `drainMs`. Each error is logged when it happens, and `run` rejects with the first one: `close_timed_out` for a resource that was
   * given up. Rejects with `invalid_option` without a signal.
   */
  run(options: RunOptions): Promise<void>;
}

const receiverOption = withMethods<Pick<Receiver, "ready" | "close">>("ready", "close");
const shape: OptionsShape<
  SettingsOf<RunnerOptions, "receiver" | "worker" | "reconciler" | "inbox" | "store">
> = {
  receiver: z.optional(z.union([z.array(receiverOption), receiverOption])),
  worker: z.optional(
    withMethods<Pick<Worker, "run" | "sinceLastTakeMs" | "isHealthy">>("run", "sinceLastTakeMs", "isHealthy"),
  ),
  reconciler: z.optional(withMethods<Pick<Worker, "run">>("run")),
  inbox: z.optional(storeOption),
  store: z.optional(storeOption),
  drainMs: z._default(durationMs(0), 0),
  shutdownMs: z._default(durationMs(1), 25_000),
  logger: z._default(loggerOption, () => silentLogger),
};
const runShape: OptionsShape<SettingsOf<RunOptions, "server">> = {
  signal: z.custom<AbortSignal>(
    (given) => given instanceof AbortSignal,
    "expected an AbortSignal: without one, nothing could stop the process",
  ),
  server: z.optional(
    z.custom<ClosableServer | ClosableHttp2Server>(
      (given) =>
        hasMethod(given, "close") &&
        (hasMethod(given, "closeAllConnections")
          ? hasMethod(given, "closeIdleConnections")
          : hasMethod(given, "on")),
      "expected a server of node:http, node:https or node:http2",
    ),
  ),
  close: z._default(z.array(withMethods<Pick<Lifecycle, "close">>("close")), []),
};

/**
 * Makes one process of a receiver, a worker, a reconciler, or several of them, with the probes and one clean stop. Throws `invalid_option`.
 */
export function createRunner(options: RunnerOptions): Runner {
  const { receiver, worker, reconciler, inbox, store, drainMs, shutdownMs, logger } = parseOptions(
    "createRunner",
    shape,
    options,
  );
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
  const readiness = readinessHandler({ receiver, inbox, store, signal: stopped, logger });
  const liveness = livenessHandler({ worker, inbox: hasGauges(inbox) ? inbox : undefined, logger });

  return {
    readiness,
    liveness,
    async run(given) {
      const { signal, server, close } = parseOptions("runner.run", runShape, given);
      const watched = server && watchServer(server);
      const failures: unknown[] = [];
      const stopWatching = watchLeftBehind(logger);
      const stop = () => stopping.abort();
      const aborted = once(stopped, "abort");
      const attempt = async (step: () => Awaitable<unknown>) => {
        try {
          await step();
        } catch (error) {
          failures.push(error);
          logger.error({ err: error }, "A part of this process failed, so the process stops. See the error.");
        }
      };
      const run = async (part: Pick<Worker, "run">) => {
        await attempt(() => part.run({ signal: stopped }));
        stop();
      };
      const working = [worker, reconciler].filter((each) => each !== undefined).map(run);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop);
      await aborted;
      signal.removeEventListener("abort", stop);
      watched?.sendAway();
      const isPlanned = signal.aborted; // after a failure, nothing is gained by accepting more
      if (isPlanned && drainMs > 0) await new Promise((resolve) => setTimeout(resolve, drainMs));
      const receivers = receiver === undefined ? [] : [receiver].flat();
      const ended = Promise.all(receivers.map((each) => attempt(() => each.close())));
      const isInTime = createDeadline(shutdownMs)
        .before(ended)
        .then((result) => result !== undefined);
      const closing =
        watched === undefined ? [] : [attempt(() => closeServer(watched, isInTime, shutdownMs))];
      await Promise.all([...working, ...closing]);
      liveness.close();
      const closeAll = async () => {
        for (const [place, each] of close.entries())
          await attempt(() => closeInTime(each, place, Math.max(shutdownMs, closeMs)));
      };
      if (await isInTime) {
        await closeAll();
        stopWatching();
      } else {
        logger.warn({ shutdownMs }, late);
        void ended.then(closeAll).then(stopWatching); // a handler that ends later still settles its event
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

const closeMs = 10_000;

async function closeInTime(each: Pick<Lifecycle, "close">, place: number, ms: number): Promise<void> {
  const closing = async () => {
    await each.close();
    return true;
  };
  if (await createDeadline(ms).before(closing())) return;
  throw new WebhookError(
    "close_timed_out",
    `close[${place}] was not closed within ${ms} ms, so it stays as it is.`,
    "Limit what its close() waits for. What it holds may keep the process alive.",
    { where: "runner.run", option: "close" },
  );
}

const late =
  "A delivery did not end in time. What is to be closed stays open until it ends. Let handlers stop when context.signal aborts.";

function hasGauges(inbox: object | undefined): inbox is WatchedInbox {
  return hasMethod(inbox, "gauges");
}
