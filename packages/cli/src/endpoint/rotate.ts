import type { ApiClient } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";
import { dateTimeMs, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import {
  planRotation,
  type ReconcileReport,
  type RotationPlan,
  type RotationReport,
  reconcile,
  rotateSecret,
} from "@esim-webhooks/endpoint";
import { withApiToWrite } from "../api/open-client.ts";
import { optionsOf } from "../flags/flag.ts";
import { stepLogger } from "../log/command-logger.ts";
import type { CliContext, Output } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { interruptedBy, stopSignal } from "../program/stopping.ts";
import { keyPlaceOf, namedFile } from "../set-up/key-place.ts";
import { hasInbox } from "../set-up/open-target.ts";
import { counted } from "../terminal/quantities.ts";
import { layoutFor } from "../terminal/text.ts";
import { explainedChange } from "./change-text.ts";
import { theEndpoint } from "./find-endpoint.ts";
import { type RotateFlags, rotateFlags } from "./flags.ts";
import { refuseUnfitForRotation } from "./key-file.ts";
import { openReconcileTarget, untouchedReconcileTarget } from "./reconcile-target.ts";
import { needsLook, reconcileView, withoutReports } from "./reconcile-view.ts";

/** Rotates the secret of an endpoint, or continues the rotation that an earlier run has begun. */
export async function rotate(this: CliContext, flags: RotateFlags): Promise<void> {
  const { output, process } = this;
  await withApiToWrite(this, flags, async (api, setUp) => {
    const { keyStore, where, file } = keyPlaceOf(setUp, namedFile(process, flags.keyFile));
    if (file !== undefined) await refuseUnfitForRotation({ file, where }, process);
    const endpoint = flags.endpoint ?? (await ownEndpoint(api, keyStore, this.now()));
    const hasTarget = setUp.handlers !== undefined || hasInbox(setUp); // else an inbox would be created
    const isReconciled = !flags.noReconcile && hasTarget;
    if (flags.dryRun) {
      const untouched = isReconciled ? await untouchedReconcileTarget(setUp) : undefined;
      try {
        const state = untouched?.options.state;
        const plan = await planRotation(api, endpoint, keyStore, { state });
        return flags.json ? output.json(plan) : printPlan(output, plan, where, flags);
      } catch (error) {
        throw await explainedChange(error, keyStore);
      } finally {
        await untouched?.close();
      }
    }
    const open = isReconciled ? await openReconcileTarget(setUp) : undefined;
    const logger = stepLogger(output);
    const stop = stopSignal(this, "the step under way");
    let passedFrom = 0;
    output.note(
      `Rotating the secret of the endpoint ${printable(endpoint)}. The old key stays valid for another ${span(flags.overlap)} (--overlap), and the command waits for its end.`,
    );
    try {
      const report = await rotateSecret<ReconcileReport>(api, endpoint, keyStore, {
        ...optionsOf(rotateFlags, flags),
        signal: stop.signal,
        logger,
        ...(open && {
          state: open.options.state,
          reconcile: ({ signal }) => {
            passedFrom = performance.now();
            return reconcile<unknown>(api, endpoint, open.target, {
              ...open.options,
              signal,
              logger: withoutReports(logger),
            });
          },
        }),
      });
      const { newKeyUse, reconciled } = report;
      const toLookInto = reconciled !== null && needsLook(reconciled) ? reconciled : null;
      if (newKeyUse.refused > 0 || toLookInto !== null) process.exitCode = exitCodes.problem;
      if (flags.json) output.json(report);
      else {
        printReport(output, report, where, open?.where);
        const view = { tookMs: performance.now() - passedFrom, ...layoutFor(process.stdout, process.env) };
        if (toLookInto !== null) for (const line of reconcileView(toLookInto, view)) output.data(line);
      }
    } catch (error) {
      throw interruptedBy(stop.signal, await explainedChange(error, keyStore));
    } finally {
      stop.release();
      await open?.close();
    }
  });
}

/**
 * The reference of the endpoint whose change of keys is under way, even if it was deleted: the change has to end. Else that of the
 * endpoint that all current keys name, else of the client's only one. Rejects as `theEndpoint` does.
 */
async function ownEndpoint(api: ApiClient, keyStore: KeyStore, now: number): Promise<string> {
  const { keys = [], change } = (await keyStore.read())?.record ?? {};
  const { endpoint } = (change ?? {}) as { readonly endpoint?: unknown };
  if (typeof endpoint === "string") return endpoint;
  const named = keys
    .filter((key) => typeof key === "string" || !(dateTimeMs(key.notAfter) <= now))
    .map((key) => (typeof key === "string" ? undefined : key.endpoint));
  const [one, ...others] = new Set(named);
  const found = await theEndpoint(api, undefined, others.length === 0 ? one : undefined);
  return found.webhookEndpointReference;
}

function printPlan(
  output: Output,
  { endpoint, active, continues, asks, oldKeys, otherKeys }: RotationPlan,
  where: string,
  { noCheck }: Pick<RotateFlags, "noCheck">,
): void {
  const named = printable(endpoint);
  output.data(
    continues === null
      ? `Would rotate the secret of the endpoint ${named}, in ${where}.`
      : `Would continue the rotation of the endpoint ${named}, in ${where}.`,
  );
  if (!active) output.data("The endpoint is not active: the service sends it nothing.");
  if (continues === null && !noCheck) output.data("The receivers are asked when the rotation begins.");
  output.data(asks ? "The service would be asked for a new secret." : "The new secret is there already.");
  output.data(`Keys that would be replaced: ${listOf(oldKeys)}.`);
  if (otherKeys.length > 0) output.data(`Keys that would stay: ${listOf(otherKeys)}.`);
}

function useOf({ accepted, refused }: RotationReport["newKeyUse"]): string {
  if (refused > 0)
    return `Of the newest deliveries with it, receivers answered 401 to ${refused} and accepted ${accepted}: check that all of them read this key store, and --secret-form. Then run esim-webhooks reconcile.`;
  return accepted > 0
    ? `Receivers accept it: ${counted(accepted, "delivery", "deliveries")} on the newest page of the listing.`
    : "No delivery with it was seen that receivers accepted or answered 401.";
}

function printReport(
  output: Output,
  { endpoint, newKey, oldKeys, otherKeys, newKeyUse, reconciled }: RotationReport<ReconcileReport>,
  where: string,
  reconciledWith: string | undefined,
): void {
  output.data(
    `Rotated the secret of the endpoint ${printable(endpoint)}. The new key (${newKey}) is in ${where}.`,
  );
  output.data(useOf(newKeyUse));
  output.data(`Keys that were replaced: ${listOf(oldKeys)}.`);
  if (otherKeys.length > 0) {
    output.data(`Keys that stay, because they may belong to other endpoints: ${listOf(otherKeys)}.`);
  }
  if (reconciled !== null) {
    const { missed, acknowledgedAndLost } = reconciled.recovered;
    const found = missed + acknowledgedAndLost;
    const none = reconciled.gaps?.length ? "The list has nothing that was missed" : "Nothing was missed";
    const outcome = found === 0 ? none : `Recovered ${counted(found, "missed event")}`;
    output.data(`${outcome}. Reconciled with ${reconciledWith}.`);
  } else if (reconciledWith === undefined) {
    output.data("Nothing was reconciled. Run esim-webhooks reconcile where the events are kept.");
  }
}

function listOf(keys: readonly string[]): string {
  return keys.length === 0 ? "none" : keys.join(", ");
}
