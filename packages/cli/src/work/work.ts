import { createRunner } from "@esim-webhooks/core/run";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { stopSignal } from "../program/stopping.ts";
import { withDefer } from "../program/with-defer.ts";
import { openQueue } from "../set-up/open-target.ts";
import { readSetUp } from "../set-up/set-up.ts";
import { waitingNote } from "../set-up/waiting.ts";
import { exportTelemetry } from "../telemetry/export.ts";
import { checkMetricsFlags, serveMetrics } from "../telemetry/metrics-server.ts";
import { logTroubles } from "../telemetry/watched.ts";
import type { WorkFlags } from "./flags.ts";
import { withHandlers, workerOf } from "./worker-of.ts";

/** Processes the events of the inbox until SIGINT or SIGTERM, or until its output is no longer read. */
export async function work(this: CliContext, flags: WorkFlags): Promise<void> {
  checkMetricsFlags(flags);
  const setUp = withHandlers(await readSetUp(this, flags));
  const logger = commandLogger(dataLines(this.output, flags));
  await withDefer(async (defer) => {
    const { inbox, where, close } = await openQueue(setUp);
    defer(close);
    const worker = workerOf(inbox, setUp, logger, flags.concurrency);
    const runner = createRunner({ worker, inbox, logger });
    const stop = stopSignal(this);
    const watched = { inbox, worker, catalog: setUp.catalog };
    defer(await exportTelemetry(this, watched));
    defer(logTroubles(watched, logger));
    defer(await serveMetrics(flags, watched, runner, this.output));
    this.output.note(`Processing events from ${where}. Press Ctrl-C to stop.`);
    const waiting = await waitingNote(inbox, where);
    if (waiting !== undefined) this.output.note(waiting);
    await runner.run({ signal: stop.signal });
    stop.release();
  });
}
