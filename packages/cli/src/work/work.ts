import type { SetUpFlags } from "../flags/flag-kinds.ts";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { stopSignal } from "../program/stopping.ts";
import { openQueue } from "../set-up/open-target.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { waitingNote } from "../set-up/waiting.ts";
import { exportTelemetry } from "../telemetry/export.ts";
import { checkMetricsFlags, type MetricsFlags, serveMetrics } from "../telemetry/metrics-server.ts";
import { logTroubles } from "../telemetry/watched.ts";
import { withHandlers, workerOf } from "./worker-of.ts";

export interface WorkFlags extends SetUpFlags, MetricsFlags {
  readonly concurrency?: number;
  readonly json?: boolean;
}

/** Processes the events of the inbox until SIGINT or SIGTERM, or until its output is no longer read. */
export async function work(this: CliContext, flags: WorkFlags): Promise<void> {
  checkMetricsFlags(flags);
  const setUp = withHandlers(await readSetUp(this, flags));
  const logger = commandLogger(dataLines(this.output, flags));
  const open = await openQueue(setUp);
  const closing: (() => Promise<void>)[] = [];
  try {
    const worker = workerOf(open.inbox, setUp, logger, flags.concurrency);
    const stop = stopSignal(this.output);
    const watched = { inbox: open.inbox, worker, catalog: setUp.catalog, signal: stop.signal };
    closing.push(await exportTelemetry(this, watched));
    closing.push(logTroubles(watched, logger));
    closing.push(await serveMetrics(flags, watched, this.output, logger));
    this.output.note(`Processing events from ${open.where}. Press Ctrl-C to stop.`);
    const waiting = await waitingNote(open.inbox, open.where);
    if (waiting !== undefined) this.output.note(waiting);
    await worker.run({ signal: stop.signal });
    stop.release();
  } finally {
    for (const close of closing.reverse()) await close();
    await open.close();
  }
}
