import { setTimeout as pause } from "node:timers/promises";
import type { ApiClient } from "@esim-webhooks/client";
import { type DedupeStore, type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { checkArguments, dateTimeMs } from "@esim-webhooks/core/kit";
import { beginPass } from "./begin-pass.ts";
import { createLongPassWarning } from "./long-pass-warning.ts";
import type { PassParts } from "./pass.ts";
import { type PassState, readPassState, stateName } from "./pass-state.ts";
import type { ReconcileTarget } from "./reconcile.ts";
import { parseReconcilerOptions, type ReconcilerOptions } from "./reconcile-options.ts";
import { refuseForgetful } from "./refuse-forgetful.ts";
import { createStaleWarning } from "./stale-warning.ts";

export interface Reconciler {
  /**
   * Makes a pass at once, and then every `everyMs`, until the signal aborts; resolves when the pass under way has ended. A
   * pass that fails is logged, and made again at the next turn. Rejects only for mistakes in the set-up, with the codes of `reconcile`.
   */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** Mistakes in the set-up, which no later turn mends. */
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
 * Creates a reconciler, to run beside a worker or a receiver. Every process of a fleet may run one: one of them makes the
 * passes, and when it stops or is killed, another one does. Takes what `reconcile` takes; `since` counts only for the first
 * pass of the endpoint. Throws `invalid_option`.
 */
export function createReconciler<Data = EsimEvents, Tx = unknown>(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  target: ReconcileTarget<Data, Tx>,
  options: ReconcilerOptions<Data, Tx>,
): Reconciler {
  checkArguments(
    "createReconciler",
    {
      client: [api],
      endpoint: [endpointReference],
      target: [target, "an inbox", "a map of handlers"],
      options: [options],
    },
    "Pass a client, the reference of an endpoint, an inbox or handlers, then options: createReconciler(api, reference, inbox, { state, since }).",
  );
  const { since, everyMs, ...settings } = parseReconcilerOptions(options);
  const { state, source, store, logger, clock } = settings;
  const name = stateName(endpointReference);

  async function read(): Promise<PassState | undefined> {
    const stored = await state.read(name);
    return stored && readPassState(name, stored.value);
  }

  return {
    async run({ signal } = {}) {
      const isStopped = () => signal?.aborted === true;
      const warnOfAge = createStaleWarning({ endpoint: endpointReference, source }, logger, clock);
      const warnOfLongPass = createLongPassWarning({ endpoint: endpointReference, source }, logger, everyMs);
      let seen: number | undefined;

      const makePass = () =>
        beginPass({
          api,
          endpoint: endpointReference,
          target: target as PassParts["target"],
          settings,
          dryRun: false,
          signal,
          since,
          resume: (stored) => stored,
        });

      /** A pass, unless another process has completed one since the last turn: then that one makes the next, too. */
      async function turn(): Promise<void> {
        await refuseForgetful(target, store as DedupeStore | undefined, state);
        const before = await read();
        if (before !== undefined) warnOfAge(dateTimeMs(before.settledTo));
        warnOfLongPass(before?.runner ?? null);
        const isMadeByOther = seen !== undefined && before?.completed !== seen;
        try {
          if (!isMadeByOther) await makePass();
        } finally {
          seen = (await read().catch(() => undefined))?.completed;
        }
      }

      while (!isStopped()) {
        try {
          await turn();
        } catch (err) {
          if (isStopped()) return;
          if (WebhookError.is(err) && mistakes.has(err.code)) throw err;
          const fields = { err, endpoint: endpointReference, source, everyMs };
          if (WebhookError.is(err) && err.code === "reconcile_in_use") {
            logger.debug(fields, "Another process reconciles this endpoint.");
          } else {
            logger.error(fields, "Reconciling failed. The next turn tries it again.");
          }
        }
        await pause(everyMs, undefined, { signal }).catch(() => {}); // it rejects only when the signal aborts
      }
    },
  };
}
