import * as z from "zod/mini";
import type { Awaitable } from "../base/awaitable.ts";
import { sourceIn } from "../base/environment.ts";
import { WebhookError } from "../base/errors.ts";
import {
  durationMs,
  type OptionsShape,
  parseOptions,
  type SettingsOf,
  withMethods,
} from "../base/options.ts";
import type { DriftWatch } from "../drift/watch-drift.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { isStorableSource, sourceForm } from "../event/event.ts";
import { type ProcessorOptions, processorShape } from "../process/processor.ts";
import type { StoreCapabilities } from "../store/dedupe-store.ts";
import { durableStores } from "../store/store-options.ts";
import {
  defaultToleranceSeconds,
  type Tolerance,
  type ToleranceSeconds,
  toleranceForm,
  toleranceOf,
} from "../verify/tolerance.ts";
import type { Secret } from "./verifier.ts";

/** An endpoint that `endpoints` has found. */
export interface FoundEndpoint {
  /** Its name, of at most 255 characters; ids are unique within it. */
  readonly source: string;
  /** Its signing secret, several while rotating, or a key source. */
  readonly secret: Secret;
}

/**
 * Finds the endpoint of a path, such as `/acme`: the part below the adapter's route, percent-encoded as it was sent, without a
 * query. Any client can send any path of up to 1,024 characters.
 */
export type EndpointLookup = (path: string) => Awaitable<FoundEndpoint | null | undefined>;

/** Options of `createReceiver`, and of all adapters. */
export interface ReceiverOptions<Data = EsimEvents, Tx = unknown> extends ProcessorOptions<Data, Tx> {
  /** The endpoint's signing secret, several while rotating, or a key source. Default: `ESIM_WEBHOOK_SECRET`, or `ESIM_TEST_WEBHOOK_SECRET` with `ESIM_ENVIRONMENT=test`. */
  secret?: Secret;
  /** The name of this endpoint, of at most 255 characters; ids are unique within it. Default `"default"`, or `"test"` with `ESIM_ENVIRONMENT=test`. */
  source?: string;
  /**
   * For several endpoints, in place of `secret` and `source`: finds the endpoint of a request's path, or null, which is answered 404.
   * At most 10,000 found endpoints are cached, and asked for again as a key source is: when no key matches, and each minute in which
   * deliveries arrive. Return null only if there is no endpoint now: read the primary database, not a replica. The answer is 503 when this
   * function throws or takes more than 5 s, and while an earlier null is remembered: for 10 s, or 1 s where an endpoint was known.
   */
  endpoints?: EndpointLookup;
  /**
   * How far a delivery's timestamp may be from now, in seconds: a number, or `{ past, future }`. Default 300. More needs a
   * durable store or inbox that remembers done ids for `past` and `future` together.
   */
  toleranceSeconds?: ToleranceSeconds;
  /** The longest body accepted, in bytes. Default 1 MiB. */
  maxBodyBytes?: number;
  /**
   * The most memory for the bodies of all deliveries that are not verified yet, in bytes; at least `maxBodyBytes`. When they
   * need more, the largest is answered 503 immediately. Default: 64 MiB, or `maxBodyBytes` if that is more.
   */
  maxUnverifiedBytes?: number;
  /**
   * The longest time for a body to arrive, in ms; `deadlineMs` if that is shorter. In each quarter of this time, at least 4 KiB must
   * arrive, or all that is left of the body. Default 10,000.
   */
  bodyTimeoutMs?: number;
  /** The longest time until the sender is answered, in ms. Less than 30,000, when the sender gives up. Default 25,000. */
  deadlineMs?: number;
  /** Looks at each authentic event: `watchDrift(state)` of `@esim-webhooks/core/drift`. Default: none. */
  drift?: DriftWatch;
}

const unverifiedBytes = 64 * 1024 * 1024;

/** The schema of the option `toleranceSeconds`, with its default. */
export const toleranceOption: z.ZodMiniDefault<z.ZodMiniCustom<ToleranceSeconds>> = z._default(
  z.custom<ToleranceSeconds>((given) => toleranceOf(given) !== undefined, toleranceForm),
  defaultToleranceSeconds,
);

/** The schema of a source. */
export const sourceOption: z.ZodMiniType<string> = z.custom<string>(
  isStorableSource,
  `expected ${sourceForm}`,
);

/** The schema of the option `source`, with its default. */
export const ownSourceOption: z.ZodMiniDefault<z.ZodMiniType<string>> = z._default(sourceOption, () =>
  sourceIn(),
);

const bytes = z.int().check(z.gte(1));

export const receiverShape: OptionsShape<
  SettingsOf<ReceiverOptions<unknown>, "secret" | "endpoints" | "store" | "maxUnverifiedBytes" | "drift">
> = {
  secret: z.optional(z.custom<Secret>()), // checked by the keyring
  ...processorShape,
  source: ownSourceOption,
  endpoints: z.optional(
    z.custom<EndpointLookup>((given) => typeof given === "function", "expected a function of the path"),
  ),
  toleranceSeconds: toleranceOption,
  maxBodyBytes: z._default(bytes, 1024 * 1024),
  maxUnverifiedBytes: z.optional(bytes),
  bodyTimeoutMs: z._default(durationMs(1), 10_000),
  deadlineMs: z._default(durationMs(1).check(z.lte(29_999, "the sender gives up after 30,000 ms")), 25_000),
  drift: z.optional(withMethods<DriftWatch>("see", "flush")),
};

type ReceiverSettings = SettingsOf<
  Omit<ReceiverOptions<unknown>, "toleranceSeconds">,
  "secret" | "endpoints" | "store" | "drift"
> & {
  readonly tolerance: Tolerance;
};

/**
 * Parses the options of a receiver. Throws `invalid_option`.
 * @param ownOptions the names of the adapter's own options, which are allowed and not checked here
 */
export function readReceiverOptions(options: unknown, ownOptions: readonly string[]): ReceiverSettings {
  const own = Object.fromEntries(ownOptions.map((name) => [name, z.optional(z.unknown())]));
  const shape = { ...receiverShape, ...own };
  const { toleranceSeconds, ...settings } = parseOptions("webhook receiver", shape, options);
  const { maxBodyBytes, maxUnverifiedBytes = Math.max(unverifiedBytes, maxBodyBytes) } = settings;
  if (maxUnverifiedBytes < maxBodyBytes) {
    throw new WebhookError(
      "invalid_option",
      `"maxUnverifiedBytes" is ${maxUnverifiedBytes}, and "maxBodyBytes" ${maxBodyBytes}, so the longest body would never be taken.`,
      "Raise maxUnverifiedBytes, or lower maxBodyBytes.",
      { where: "webhook receiver" },
    );
  }
  checkEndpoints(options as ReceiverOptions);
  const tolerance = toleranceOf(toleranceSeconds) as Tolerance; // checked by its schema
  const bodyTimeoutMs = Math.min(settings.bodyTimeoutMs, settings.deadlineMs);
  return { ...settings, tolerance, maxUnverifiedBytes, bodyTimeoutMs };
}

/** Throws `invalid_option` for `endpoints` together with `secret` or `source`. */
function checkEndpoints({ endpoints, secret, source }: ReceiverOptions): void {
  if (endpoints === undefined) return;
  const option = secret !== undefined ? "secret" : source !== undefined ? "source" : undefined;
  if (option === undefined) return;
  throw new WebhookError(
    "invalid_option",
    `there are "endpoints" and also a "${option}", and each endpoint has its own.`,
    `Leave "${option}" out, and return { source, secret } from endpoints.`,
    { where: "webhook receiver", option },
  );
}

/**
 * Checks, for a tolerance above the default, that no delivery is accepted for longer than its id is remembered: a captured
 * delivery can be replayed until its timestamp is outside the tolerance, so for `past` and `future` together, and only its done
 * id stops it. Throws `invalid_option`.
 * @param store the store or inbox that remembers done ids; undefined for the default store, which is in memory
 */
export function checkReplayWindow({ past, future }: Tolerance, store: object | undefined): void {
  if (past <= defaultToleranceSeconds && future <= defaultToleranceSeconds) return;
  const capabilities = (store as { readonly capabilities?: StoreCapabilities } | undefined)?.capabilities;
  if (capabilities?.durable !== true) {
    throw new WebhookError(
      "invalid_option",
      `"toleranceSeconds" is more than ${defaultToleranceSeconds}, and no durable store remembers done ids, so a captured delivery could run again.`,
      `Use a store or inbox that is durable (${durableStores}), or set at most ${defaultToleranceSeconds}.`,
      { where: "webhook receiver" },
    );
  }
  const seconds = past + future;
  if (seconds * 1000 <= capabilities.retentionMs) return;
  throw new WebhookError(
    "invalid_option",
    `"toleranceSeconds" accepts a delivery for ${seconds} s (past and future together), and the store forgets done ids after ${Math.floor(capabilities.retentionMs / 1000)} s.`,
    "Lower toleranceSeconds, or raise the store's retentionMs.",
    { where: "webhook receiver" },
  );
}
