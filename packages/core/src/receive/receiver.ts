import { isUint8Array } from "node:util/types";
import * as z from "zod/mini";
import { monotonicClock } from "../base/clock.ts";
import { startDeadline } from "../base/deadline.ts";
import { WebhookError } from "../base/errors.ts";
import {
  type Logger,
  safeLogger,
  silentLogger,
  throttledLog,
  warnOfSetup,
  warnOnce,
} from "../base/logger.ts";
import { durationMs, type OptionsShape, parseOptions, type SettingsOf } from "../base/options.ts";
import { outcomeFields } from "../base/trace.ts";
import type { Catalog } from "../event/catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { createProcessor, type ProcessorOptions, processorShape } from "../process/processor.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import { type HeaderReader, headerReader, readSignedHeaders } from "../verify/headers.ts";
import type { SkewRefusal } from "../verify/refusal.ts";
import { bodyBytes } from "../verify/signature.ts";
import {
  defaultToleranceSeconds,
  refuseBySkew,
  type Tolerance,
  type ToleranceSeconds,
  toleranceOf,
} from "../verify/tolerance.ts";
import type { BodyFault } from "./body.ts";
import type { Delivery, Receiver } from "./delivery.ts";
import type { Outcome, OutcomeCode } from "./outcome.ts";
import { logLevelOf, replyTo } from "./reply.ts";
import { receiveStage, verifyStage } from "./stages.ts";
import { acceptInline, acceptInto, isInbox, joinSource, type Target } from "./target.ts";
import { checkReplayWindow, toleranceOption } from "./tolerance-option.ts";
import { createVerifier, knownKeys, type Secret } from "./verifier.ts";

export interface ReceiverOptions<Data = EsimEvents, Tx = unknown> extends ProcessorOptions<Data, Tx> {
  /** The endpoint's signing secret, several while rotating, or a key source. Default: `ESIM_WEBHOOK_SECRET`. */
  secret?: Secret;
  /** The name of this endpoint, of at most 255 characters; ids are unique within it. Default `"default"`. */
  source?: string;
  /**
   * How far a delivery's timestamp may be from now, in seconds: a number, or `{ past, future }`. Default 300. More needs a
   * durable store, or an inbox, that remembers done ids for `past` and `future` together.
   */
  toleranceSeconds?: ToleranceSeconds;
  /** The longest body taken, in bytes. Default 1 MiB. */
  maxBodyBytes?: number;
  /** The longest time until the sender is answered, in ms. Below 30,000, when it gives up. Default 25,000. */
  deadlineMs?: number;
}

const longestSource = 255; // every store can hold it together with the longest id

type ReceiverSettings = SettingsOf<ReceiverOptions<unknown>, "secret" | "store">;

export const receiverShape: OptionsShape<ReceiverSettings> = {
  secret: z.optional(z.custom<Secret>()), // checked by the keyring
  ...processorShape,
  source: z._default(z.string().check(z.minLength(1), z.maxLength(longestSource)), "default"),
  toleranceSeconds: z._default(toleranceOption, defaultToleranceSeconds),
  maxBodyBytes: z._default(z.int().check(z.gte(1)), 1024 * 1024),
  deadlineMs: z._default(durationMs(1).check(z.lte(29_999, "the sender gives up after 30,000 ms")), 25_000),
};

/**
 * The pipeline behind every adapter: limit, verify, parse, accept.
 * Throws `missing_secret`, `invalid_secret`, `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function createReceiver<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
): Receiver {
  return receiverWith(createVerifier, target, options);
}

/** A receiver that `createVerifier` or `createLateVerifier` gives its verifier. */
export function receiverWith<Data, Tx>(
  makeVerifier: typeof createVerifier,
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx>,
): Receiver {
  const settings = parseOptions("webhook receiver", receiverShape, options);
  const { source, maxBodyBytes, deadlineMs, store, leaseMs, clock } = settings;
  const tolerance = toleranceOf(settings.toleranceSeconds) as Tolerance; // checked by its schema
  const logger = safeLogger(settings.logger);
  const verify = makeVerifier(options, clock, logger);
  const catalog = settings.catalog as Catalog<Data>;
  const accept = isInbox(target)
    ? acceptInto<Data>(target)
    : acceptInline(
        createProcessor<Data, Tx>(target, {
          ...(store && { store: store as DedupeStore<Tx> }),
          catalog,
          leaseMs,
          logger,
          clock,
        }),
      );
  if (isInbox(target) && store !== undefined) {
    throw new WebhookError(
      "invalid_option",
      "The options have a store, but the target is an inbox, which deduplicates by itself.",
      "Leave the store out, or pass handlers instead of the inbox.",
    );
  }
  const remembersIds = isInbox(target) ? target : store;
  checkReplayWindow(tolerance, remembersIds);
  const leaveSource =
    remembersIds && joinSource(remembersIds, source, knownKeys(options, clock.now()), logger);
  // every delivery, or everybody who can reach us, would log the same
  const throttled: Partial<Record<OutcomeCode, Logger["error"]>> = {
    store_unavailable: throttledLog(logger.error, monotonicClock),
    too_large: throttledLog(logger.error, monotonicClock),
    unsupported_encoding: throttledLog(logger.error, monotonicClock),
  };
  let inFlight = 0;
  let onIdle = () => {};
  let closed: Promise<void> | undefined;

  async function workThrough(delivery: Delivery, signal: AbortSignal, seen: Seen): Promise<Outcome> {
    if (closed !== undefined) return { code: "shutting_down" };
    if (delivery.method !== "POST") return { code: "method_not_allowed" };
    const receivedAt = new Date(clock.now());
    const header = headerReader(delivery.headers);
    const signed = readSignedHeaders(header);
    if (!signed.ok) return signed;
    seen.id = signed.id;

    const announcedBytes = Number(header("content-length"));
    const body = await readBody(delivery.body, announcedBytes, maxBodyBytes, signal);
    if (!isUint8Array(body)) return body.code === "too_large" ? tooLarge(announcedBytes, maxBodyBytes) : body;
    const proof = await verifyStage.trace(
      () => ({ source, id: signed.id }),
      () => verify(signed, body, receivedAt.getTime()),
      (found) => (found.ok ? { outcome: "verified", key: found.key } : { outcome: found.code }),
    );
    if ("key" in proof) seen.key = proof.key;
    if (!proof.ok) {
      return proof.code === "no_matching_key" && isEncoded(header) ? unsupportedEncoding : proof;
    }
    const skewed = refuseBySkew(proof.timestamp, receivedAt.getTime(), tolerance);
    if (skewed !== undefined) return skewed;

    const parsed = catalog.parse(proof.id, body);
    if (parsed.type !== null) seen.type = parsed.type;
    return accept({ parsed, id: proof.id, body, source, receivedAt, signal });
  }

  /** Resolves to an outcome, whatever happens. Counts the work, so that `close` can wait for it. */
  async function work(delivery: Delivery, signal: AbortSignal, seen: Seen): Promise<Outcome> {
    inFlight += 1;
    try {
      return await workThrough(delivery, signal, seen);
    } catch (error) {
      return { code: "internal_error", error };
    } finally {
      inFlight -= 1;
      if (inFlight === 0) onIdle();
    }
  }

  /** The outcome of the work, or `deadline_reached`. An outcome that comes later is logged when it is known. */
  async function outcomeInTime(delivery: Delivery, seen: Seen): Promise<Outcome> {
    const deadline = startDeadline(deadlineMs);
    const startedAt = performance.now();
    const worked = work(delivery, deadline.signal, seen);
    const outcome = await deadline.before(worked);
    if (outcome !== undefined) return outcome;
    void worked.then((late) => log(late, { ...seen, late: true }, startedAt));
    return { code: "deadline_reached" };
  }

  /** Logs an outcome, with its time since `startedAt`. */
  function log(outcome: Outcome, seen: Seen, startedAt: number): void {
    if (outcome.code === "body_consumed") warnOfSetup(logger, outcome.code, outcome.hint);
    if (outcome.code === "timestamp_out_of_tolerance") warnOnce(outcome.code, skewHint(outcome));
    if (settings.logger === silentLogger) return;
    const durationMs = Math.round(performance.now() - startedAt);
    const fields = { source, ...seen, outcome: outcome.code, durationMs, ...loggable(outcome) };
    const write = throttled[outcome.code] ?? logger[logLevelOf(outcome)];
    write(fields, "webhook delivery");
  }

  return {
    async receive(delivery) {
      const seen: Seen = {};
      const startedAt = performance.now();
      const outcome = await receiveStage.trace(
        () => ({ source }),
        () => outcomeInTime(delivery, seen),
        (outcome) => ({
          ...seen,
          ...outcomeFields(outcome),
          ...("conflict" in outcome && { conflict: true }),
        }),
      );
      log(outcome, seen, startedAt);
      return { ...replyTo(outcome), outcome };
    },
    close() {
      leaveSource?.();
      closed ??= new Promise((resolve) => {
        onIdle = () => setImmediate(resolve); // late work is logged first
        if (inFlight === 0) onIdle();
      });
      return closed;
    },
  };
}

/** What is known about a delivery so far, for its log line. */
interface Seen {
  id?: string;
  key?: string;
  type?: string;
  /** The sender was answered before this outcome was known. */
  late?: boolean;
}

async function readBody(
  body: Delivery["body"],
  announcedBytes: number,
  maxBodyBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | BodyFault> {
  if (announcedBytes > maxBodyBytes) return { code: "too_large" };
  const read = typeof body === "function" ? await body(maxBodyBytes, signal) : body;
  if (typeof read === "object" && read !== null && "code" in read) return read;
  const bytes = bodyBytes(read);
  return bytes.byteLength > maxBodyBytes ? { code: "too_large" } : bytes;
}

function skewHint({ reason }: SkewRefusal): string {
  return `An authentic delivery was answered 503: ${reason}. Set this machine's clock (NTP), or see toleranceSeconds.`;
}

function tooLarge(announcedBytes: number, maxBodyBytes: number): Outcome {
  const length = announcedBytes > maxBodyBytes ? `${announcedBytes} bytes` : "more bytes than that";
  return {
    code: "too_large",
    reason: `maxBodyBytes is ${maxBodyBytes}, and the body has ${length}: raise the option if the sender's bodies are that long`,
  };
}

function isEncoded(header: HeaderReader): boolean {
  const encoding = header("content-encoding");
  return encoding === null || (encoding !== undefined && !/^(identity)?$/i.test(encoding));
}

const unsupportedEncoding: Outcome = {
  code: "unsupported_encoding",
  reason:
    "the body has a content-encoding, and no key matches its bytes as they came: let a proxy in front of the receiver " +
    "inflate it, or in Express mount express.raw({ type: () => true }) before the router",
};

/** What an outcome adds to its log line. Issues as paths only: a schema's messages may quote personal data. */
function loggable(outcome: Outcome): Record<string, unknown> {
  if ("error" in outcome) return { err: outcome.error };
  if ("issues" in outcome) return { issues: outcome.issues.map((issue) => issue.path) };
  if ("conflict" in outcome) return { conflict: true };
  if ("skew" in outcome) return { reason: outcome.reason, skew: outcome.skew };
  return "reason" in outcome ? { reason: outcome.reason } : {};
}
