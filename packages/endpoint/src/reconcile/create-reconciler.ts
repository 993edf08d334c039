import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "@esim-webhooks/client";
import { type DedupeStore, type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/internal";
import { listedMs } from "../base/deliveries.ts";
import { makePass, type PassRequest } from "./pass.ts";
import { isoOf, type PassState, readPassState, settledToMs, stateName } from "./pass-state.ts";
import { checkReconcileArguments } from "./reconcile.ts";
import {
  parseReconcilerOptions,
  type ReconcilerOptions,
  type ReconcilerSettings,
  type ReconcileTarget,
} from "./reconcile-options.ts";
import { refuseForgetful } from "./refuse-forgetful.ts";

/** Makes passes of `reconcile` at intervals. */
export interface Reconciler {
  /**
   * Makes a pass immediately, and the next one `everyMs` after it has ended, until the signal aborts; resolves when the pass under
   * way has ended. A pass that fails is logged, and retried at the next interval. Rejects only for mistakes in the set-up, with the codes of `reconcile`.
   */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** Mistakes in the set-up, which no later pass fixes. */
const mistakes: ReadonlySet<string> = new Set([
  "async_schema",
  "invalid_option",
  "invalid_state",
  "no_watermark",
  "durable_store_required",
  "source_unknown",
  "unknown_event_type",
]);

/**
 * Creates a reconciler, to run next to a worker or a receiver. Every process of a fleet may run one: one of them makes the
 * passes, and when it stops or is killed, another one does. `since` is used only for the first pass of the endpoint. Throws
 * `invalid_option`.
 */
export function createReconciler<Data = EsimEvents, Tx = unknown>(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  target: ReconcileTarget<Data, Tx>,
  options: ReconcilerOptions<Data, Tx>,
): Reconciler {
  checkReconcileArguments("createReconciler", api, endpointReference, target, options);
  const { since, everyMs, ...settings } = parseReconcilerOptions(api, options);
  const { state, source, store, logger } = settings;
  const fields = { endpoint: endpointReference, source };
  const name = stateName(endpointReference);

  async function read(): Promise<PassState | undefined> {
    const stored = await state.read(name);
    return stored && readPassState(name, stored.value);
  }

  return {
    async run({ signal } = {}) {
      const isStopped = () => signal?.aborted === true;
      const warn = createWarnings(fields, { ...settings, everyMs });
      let lastRun: string | null | undefined;

      /** Makes a pass, unless another process has completed one since the last call ended. */
      async function passUnlessMadeElsewhere(): Promise<void> {
        await refuseForgetful(target, store as DedupeStore | undefined, state);
        const before = await read();
        if (before !== undefined) warn(before);
        const isMadeElsewhere = lastRun !== undefined && before?.lastRun !== lastRun;
        try {
          if (isMadeElsewhere) return;
          await makePass({
            api,
            endpoint: endpointReference,
            target: target as PassRequest["target"],
            settings,
            firstPassFrom: since,
            goBackTo: undefined,
            minDepth: "recent",
            dryRun: false,
            acknowledgeGaps: false,
            signal,
          });
        } finally {
          lastRun = (await read().catch(() => undefined))?.lastRun;
        }
      }

      while (!isStopped()) {
        try {
          await passUnlessMadeElsewhere();
        } catch (err) {
          if (isStopped()) return;
          if (WebhookError.is(err) && mistakes.has(err.code)) throw err;
          if (WebhookError.is(err) && err.code === "reconcile_in_use") {
            logger.debug({ err, ...fields, everyMs }, "Another process reconciles this endpoint.");
          } else {
            logger.error(
              { err, ...fields, everyMs },
              "Reconciling failed. It is retried at the next interval.",
            );
          }
        }
        await sleep(everyMs, undefined, { signal }).catch(() => {}); // it rejects only when the signal aborts
      }
    },
  };
}

const hourMs = 60 * 60_000;
const staleMs = 5 * 24 * hourMs;
const longIntervals = 10;

/**
 * Returns a function to call with the state before each pass. It warns, at most once an hour, when nothing was settled for so long that the
 * listing soon forgets events, and once for each pass of another process that takes longer than ten intervals.
 */
function createWarnings(
  fields: { readonly endpoint: string; readonly source: string },
  { everyMs, logger, clock }: Pick<ReconcilerSettings, "everyMs" | "logger" | "clock">,
): (state: PassState) => void {
  let staleWarnedAt = Number.NEGATIVE_INFINITY;
  let other = { run: null as string | null, sinceMs: 0, isWarned: false };

  function warnOfAge(state: PassState): void {
    const ageMs = clock.now() - settledToMs(state);
    if (ageMs < staleMs || monotonicClock.now() - staleWarnedAt < hourMs) return;
    staleWarnedAt = monotonicClock.now();
    logger.warn(
      { ...fields, settledTo: isoOf(settledToMs(state)), goneInMs: Math.max(0, listedMs - ageMs) },
      "The endpoint has not been reconciled since settledTo. The service lists events for 7 days, so the oldest will be gone in goneInMs.",
    );
  }

  function warnOfLongPass({ runner }: PassState): void {
    const run = runner?.run ?? null;
    if (run !== other.run) other = { run, sinceMs: monotonicClock.now(), isWarned: false };
    const heldMs = monotonicClock.now() - other.sinceMs;
    if (run === null || other.isWarned || heldMs < longIntervals * everyMs) return;
    other.isWarned = true;
    logger.warn(
      { ...fields, run, heldMs },
      "Another process has been in one pass for longer than ten intervals. See its log: its handlers or its store may be slow.",
    );
  }

  return (state) => {
    warnOfAge(state);
    warnOfLongPass(state);
  };
}
