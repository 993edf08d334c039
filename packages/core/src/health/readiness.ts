import * as z from "zod/mini";
import { askInTime } from "../base/ask.ts";
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
import type { Receiver } from "../receive/delivery.ts";
import type { Lifecycle } from "../store/lifecycle.ts";
import { type Check, type HealthFault, type HealthHandler, healthHandler } from "./health.ts";

type Ready = Pick<Receiver, "ready">;
type Store = Pick<Lifecycle, "ready">;

/** Options of `readinessHandler`. Each part that is passed is checked. */
export interface ReadinessOptions {
  /**
   * The receiver that `webhookRouter`, `nodeHandler`, `webhookHandler` or `createReceiver` returned; several as a list. The process is not ready
   * until their keys are loaded, nor once they close.
   */
  receiver?: Pick<Receiver, "ready"> | readonly Pick<Receiver, "ready">[] | undefined;
  /** The inbox. The process is not ready while it cannot store events, or its tables are of another version. */
  inbox?: Pick<Lifecycle, "ready"> | undefined;
  /** The dedupe store of the handlers. It is checked in the same way as the inbox. */
  store?: Pick<Lifecycle, "ready"> | undefined;
  /** The signal that stops the process, such as the one of `worker.run`. The process is not ready once it has aborted. */
  signal?: AbortSignal | undefined;
  /** How long a check may take, in ms; then it has failed. Default 2,000. */
  timeoutMs?: number;
  /** Gets a line when a check begins to fail or passes again. Default: silent. */
  logger?: Logger;
}

/** How long the answer or error of a store is used for further probes, in ms. */
const keptMs = 1000;

const ready = withMethods<Ready>("ready");
/** The schema of an inbox or a store whose `ready` is asked. */
export const storeOption: z.ZodMiniType<Store> = z.custom<Store>(
  (given) => ["ready", "claim", "put"].some((method) => hasMethod(given, method)),
  "expected an inbox or a dedupe store",
);
const shape: OptionsShape<SettingsOf<ReadinessOptions, "receiver" | "inbox" | "store" | "signal">> = {
  receiver: z.optional(z.union([z.array(ready), ready])),
  inbox: z.optional(storeOption),
  store: z.optional(storeOption),
  signal: z.optional(
    z.custom<AbortSignal>((given) => given instanceof AbortSignal, "expected an AbortSignal"),
  ),
  timeoutMs: z._default(durationMs(1), 2000),
  logger: z._default(loggerOption, () => silentLogger),
};

/**
 * Answers whether this process can do its work now, for a readiness probe: nothing is sent to it while it is not ready. A store that hangs is asked
 * once a minute for any number of probes, and an answer is kept for a second. The check of a store writes a few bytes, so it does not notice a disk
 * that has room for these and for no delivery.
 *
 * Throws `invalid_option`, also if there is nothing to check.
 */
export function readinessHandler(options: ReadinessOptions): HealthHandler {
  const {
    receiver = [],
    inbox,
    store,
    signal,
    timeoutMs,
    logger,
  } = parseOptions("readinessHandler", shape, options);
  const receivers = [receiver].flat();
  const checks: readonly (readonly [string, Check | undefined])[] = [
    ["process", signal && (() => (signal.aborted ? stopping : undefined))],
    ...receivers.map(
      (one, index) =>
        [receivers.length > 1 ? `receiver_${index + 1}` : "receiver", receiverCheck(one, timeoutMs)] as const,
    ),
    ["inbox", inbox && storeCheck("inbox", inbox, timeoutMs)],
    ["store", store && storeCheck("store", store, timeoutMs)],
  ];
  const given = checks.filter((named): named is readonly [string, Check] => named[1] !== undefined);
  if (given.length > 0) return healthHandler("readiness", given, logger);
  throw new WebhookError(
    "invalid_option",
    "there is nothing to check, so the process would always be ready.",
    "Pass what it works with: { receiver, inbox }, or { receiver, store } for handlers that run inline.",
    { where: "readinessHandler" },
  );
}

const stopping: HealthFault = {
  code: "shutting_down",
  problem: "The process is stopping.",
  remedy: "Wait for its replacement.",
};

function receiverCheck(receiver: Ready, withinMs: number): Check {
  const late = () =>
    new WebhookError(
      "keys_unavailable",
      `The keys of the receiver were not loaded within ${withinMs} ms.`,
      "Check that the key source is up and not overloaded.",
    );
  return noFault(askInTime(() => receiver.ready(), { withinMs, late }));
}

function storeCheck(name: "inbox" | "store", opened: Store, withinMs: number): Check {
  const late = () =>
    new WebhookError(
      "store_unavailable",
      `The ${name} did not answer within ${withinMs} ms.`,
      "Check that its server or its disk is up and not overloaded.",
    );
  return noFault(askInTime(() => opened.ready?.(), { withinMs, keptMs, late }));
}

function noFault(ask: () => Promise<unknown>): Check {
  return async () => {
    await ask();
    return undefined;
  };
}
