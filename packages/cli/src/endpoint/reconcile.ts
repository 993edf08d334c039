import { type ApiClient, ApiError } from "@esim-webhooks/client";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import { createReconciler, reconcile as makePass, type ReconcileSetup } from "@esim-webhooks/endpoint";
import { withApiToWrite } from "../api/open-client.ts";
import { optionsOf } from "../flags/flag.ts";
import { commandLogger } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { at } from "../program/naming.ts";
import { invalidUsage } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { namingStore } from "../set-up/named-store.ts";
import type { Patience } from "../set-up/prepared.ts";
import { layoutFor } from "../terminal/text.ts";
import { awaitEndpoint, goneEndpoint, theEndpoint, tryAgain } from "./find-endpoint.ts";
import { type ReconcileFlags, reconcileFlags } from "./flags.ts";
import {
  type OpenReconcileTarget,
  openReconcileTarget,
  untouchedReconcileTarget,
} from "./reconcile-target.ts";
import { exitCodeOf, printPasses, reconcileView, withoutReports } from "./reconcile-view.ts";

/** Recovers the events that the endpoint's listing has and the target does not: once, or until the command is stopped. */
export async function reconcile(this: CliContext, flags: ReconcileFlags): Promise<void> {
  const once = flags.dryRun ? "--dry-run" : flags.acknowledgeGaps ? "--acknowledge-gaps" : undefined;
  if (flags.every !== undefined && once !== undefined) {
    throw invalidUsage(`--every and ${once} contradict each other.`, "Remove one of them.");
  }
  await withApiToWrite(this, flags, async (api, setUp) => {
    const { webhookEndpointReference: reference } = await (flags.every === undefined
      ? theEndpoint(api, flags.endpoint)
      : awaitEndpoint(api, flags.endpoint, flags.every, this.output));
    const open = flags.dryRun
      ? await untouchedReconcileTarget(setUp)
      : await openReconcileTarget(setUp, flags.every === undefined ? undefined : waiting(flags.every, this));
    try {
      if (flags.every !== undefined || this.process.stderr.isTTY)
        this.output.note(`Reconciling the endpoint ${printable(reference)} with ${open.where}.`);
      const pass = { api, reference, open, setup: setupOf(this, flags, open) };
      if (flags.every === undefined) await passOnce(this, flags, pass);
      else await passEvery(this, flags, flags.every, pass);
    } catch (error) {
      const isOfConfig = WebhookError.is(error) && error.code === "durable_store_required";
      throw isOfConfig ? at(setUp.file, error) : namingStore(error, setUp);
    } finally {
      await open.close();
    }
  });
}

/** Waits for a database that is unreachable at the start: later, the next interval retries. */
function waiting(everyMs: number, { output }: CliContext): Patience {
  const asUnreachable = (error: unknown) =>
    WebhookError.is(error) && error.code === "store_unavailable" ? error : undefined;
  return (work) =>
    tryAgain(work, { everyMs, output, asUnreachable, next: "It is tried again until it answers." });
}

interface Pass {
  readonly api: ApiClient;
  readonly reference: string;
  readonly open: OpenReconcileTarget;
  readonly setup: ReconcileSetup<unknown> & { readonly logger: Logger };
}

async function passOnce(
  context: CliContext,
  { json, dryRun, acknowledgeGaps }: ReconcileFlags,
  { api, reference, open, setup }: Pass,
): Promise<void> {
  const { output, process } = context;
  const stop = stopSignal(context, "the events under way");
  const startedAt = performance.now();
  const options = { ...setup, dryRun, acknowledgeGaps, signal: stop.signal };
  const report = await makePass<unknown>(api, reference, open.target, options).finally(stop.release);
  const view = { tookMs: performance.now() - startedAt, ...layoutFor(process.stdout, process.env) };
  if (json) output.json(report);
  else for (const line of reconcileView(report, view)) output.data(line);
  process.exitCode = exitCodeOf(report);
}

async function passEvery(
  context: CliContext,
  { json = false }: ReconcileFlags,
  everyMs: number,
  { api, reference, open, setup }: Pass,
): Promise<void> {
  const gone = new AbortController();
  const logger = onNotFound(setup.logger, () =>
    goneEndpoint(api, reference).then((error) => error && gone.abort(error)),
  );
  const options = { ...setup, logger, everyMs };
  const reconciler = createReconciler<unknown>(api, reference, open.target, options);
  const stop = stopSignal(context, "the events under way");
  const stopPrinting = printPasses(context.output, { json });
  const signal = AbortSignal.any([stop.signal, gone.signal]);
  await reconciler.run({ signal }).finally(() => {
    stopPrinting();
    stop.release();
  });
  gone.signal.throwIfAborted();
}

/** The logger, which also calls `look` when the listing was not found: the reconciler itself continues after any failure of a pass. */
function onNotFound(logger: Logger, look: () => Promise<unknown>): Logger {
  return {
    ...logger,
    error(fields, message) {
      logger.error(fields, message);
      const err = typeof fields === "object" ? (fields as { readonly err?: unknown }).err : undefined;
      if (err instanceof ApiError && err.code === "not_found") void look();
    },
  };
}

function setupOf(
  { output, process }: CliContext,
  flags: ReconcileFlags,
  { options }: OpenReconcileTarget,
): ReconcileSetup<unknown> & { readonly logger: Logger } {
  const logger = commandLogger({
    write: output.log,
    json: flags.json === true && process.stderr.isTTY !== true,
    style: output.styleNote,
  });
  return {
    ...options,
    ...optionsOf(reconcileFlags, flags),
    logger: withoutReports(logger),
  };
}
