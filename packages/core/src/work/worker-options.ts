import * as z from "zod/mini";
import { type Backoff, fullJitter } from "../base/backoff.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import {
  durationMs,
  loggerOption,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import type { DriftWatch } from "../drift/watch-drift.ts";
import { type Catalog, checkTypes } from "../event/catalog.ts";
import { catalogOption } from "../event/esim-catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { type TimeLimitOptions, type TimeLimitSettings, timeLimitShape } from "../handle/time-limits.ts";

export interface WorkerOptions<Data = EsimEvents> extends TimeLimitOptions<Data> {
  /** How many handlers run at the same time. Default 20. */
  concurrency?: number;
  /** How many handlers of one type run at the same time: `{ "esim.balance.updated": 2 }`. Default: only `concurrency`. */
  typeLimits?: { readonly [Type in keyof Data & string]?: number };
  /** How long a lease lasts, in ms: a crashed worker blocks its events that long. Leases are renewed while handlers run. Default 30,000. */
  leaseMs?: number;
  /**
   * How many times an event is tried before it is dead. A try counts even if its worker crashes, but not if the handler called
   * `retryLater`; `context.attempt` includes those, too. A redrive by an operator starts the count again. Default 20.
   */
  maxAttempts?: number;
  /**
   * How long handlers can put an event off with `retryLater` before it is dead, in ms, counted from the first time. Default
   * 86,400,000: a day.
   */
  maxWaitMs?: number;
  /** How long to wait after a failure, in ms, at most a day. Default: full jitter, up to 1 s after the first failure, doubling up to 15 minutes. */
  backoff?: Backoff;
  /** How long to wait before asking an empty inbox again, in ms, plus or minus up to a half. Default 1,000. */
  pollMs?: number;
  /** How long handlers may continue after the signal to stop, in ms. Default 20,000. */
  shutdownMs?: number;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
  /**
   * Looks at each event at its first attempt, unless it was imported: `watchDrift(state)` of `@esim-webhooks/core/drift`. For
   * workers whose receivers have none. Default: none.
   */
  drift?: DriftWatch;
}

type WorkerSettings = SettingsOf<
  Omit<WorkerOptions<unknown>, "typeLimits" | keyof TimeLimitOptions<unknown>>,
  "drift"
> &
  TimeLimitSettings & { typeLimits: Record<string, number> };

/** The backoff of a worker whose option `backoff` is left out, or fails. */
export const defaultBackoff: Backoff = fullJitter({ baseMs: 1000, capMs: 15 * 60_000 });

export const workerShape: OptionsShape<WorkerSettings> = {
  concurrency: z._default(z.int().check(z.gte(1)), 20),
  typeLimits: z._default(z.record(z.string(), z.int().check(z.gte(1))), {}),
  leaseMs: z._default(durationMs(30), 30_000),
  maxAttempts: z._default(z.int().check(z.gte(1)), 20),
  maxWaitMs: z._default(durationMs(0), 86_400_000),
  backoff: z._default(
    z.custom<Backoff>((value) => typeof value === "function", "expected a function, such as fullJitter(…)"),
    () => defaultBackoff,
  ),
  pollMs: z._default(durationMs(1), 1000),
  shutdownMs: z._default(durationMs(0), 20_000),
  ...timeLimitShape,
  catalog: catalogOption,
  logger: z._default(loggerOption, () => silentLogger),
  drift: z.optional(withMethods<DriftWatch>("see", "flush")),
};

/** Parses the options of a worker. Throws `invalid_option`, and `unknown_event_type` for a limit of an unknown type. */
export function readWorkerOptions(options: unknown): WorkerSettings {
  const settings = parseOptions("createWorker", workerShape, options);
  checkTypes("createWorker", "typeLimits", Object.keys(settings.typeLimits), settings.catalog);
  checkTypes("createWorker", "timeouts", Object.keys(settings.timeouts), settings.catalog);
  return settings;
}
