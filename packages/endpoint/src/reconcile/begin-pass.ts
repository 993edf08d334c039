import { randomUUID } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "@esim-webhooks/import";
import type { EndpointErrorCode } from "../base/errors.ts";
import { claimPass, readOnlyClaim } from "./claim-pass.ts";
import { type PassParts, runPass } from "./pass.ts";
import { firstState, type PassState, stateName } from "./pass-state.ts";
import type { ReconcileReport } from "./reconcile-report.ts";

export interface PassRequest extends Omit<PassParts, "run"> {
  /** The state for a pass that is not the first. */
  readonly resume: (state: PassState) => PassState;
}

/** Takes the place, and makes a pass. Rejects with `no_watermark` for a first pass without `since`, and with `source_unknown`. */
export async function beginPass({ resume, ...parts }: PassRequest): Promise<ReconcileReport> {
  const { endpoint, settings, since, dryRun, signal } = parts;
  const { state, source, newSource, leaseMs, logger, clock } = settings;
  const run = randomUUID();
  const claim = await (dryRun ? readOnlyClaim : claimPass)({
    state,
    name: stateName(endpoint),
    run,
    leaseMs,
    begin(stored) {
      if (stored?.source === source) return resume(stored);
      if (stored !== undefined && !newSource) throw otherSource(stored, source);
      return firstState(endpoint, source, since ?? noWatermark(endpoint), clock.now());
    },
    signal,
    logger,
  });
  return runPass({ ...parts, run }, claim);
}

function noWatermark(endpoint: string): never {
  throw new WebhookError<EndpointErrorCode>(
    "no_watermark",
    `Nobody has reconciled the endpoint ${JSON.stringify(endpoint)} with this state store, so it is not known where to begin.`,
    "Pass since: when your receiver began to store events. Everything older is left out, and would run again otherwise.",
    { option: "since", endpoint },
  );
}

function otherSource({ endpoint, source: known }: PassState, source: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "source_unknown",
    `The endpoint ${JSON.stringify(endpoint)} was reconciled with the source "${known}": under "${source}", its events would run a second time.`,
    `Set { source: "${known}" }, or { newSource: true } and since if its receiver has another source now.`,
    { option: "source", source, endpoint },
  );
}
