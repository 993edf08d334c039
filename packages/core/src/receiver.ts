import { z } from "zod";
import type { BodyFault, BodyReader } from "./body.ts";
import type { Catalog } from "./catalog.ts";
import { startDeadline } from "./deadline.ts";
import { type HeaderSource, headerReader } from "./delivery.ts";
import { WebhookError } from "./errors.ts";
import type { EsimEvents } from "./esim-catalog.ts";
import { warnOfSetup } from "./logger.ts";
import { durationMs, type OptionsShape, parseOptions } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import {
  createProcessor,
  type ProcessorOptions,
  type ProcessorSettings,
  processorShape,
} from "./processor.ts";
import { logLevelOf, type Reply, replyTo } from "./reply.ts";
import { defaultToleranceSeconds, readClaim } from "./signature.ts";
import { acceptInline, acceptInto, isInbox, type Target } from "./target.ts";
import { createVerifier, type Secret } from "./verifier.ts";

export interface ReceiverOptions<Data = EsimEvents> extends ProcessorOptions<Data> {
  /** The endpoint's signing secret, several while rotating, or a key source. Default: `ESIM_WEBHOOK_SECRET`. */
  secret?: Secret;
  /** The name of this endpoint; ids are unique within it. Default `"default"`. */
  source?: string;
  /** How far a delivery's timestamp may be from now, either way, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** The longest body taken, in bytes. Default 1 MiB. */
  maxBodyBytes?: number;
  /** When the sender gets its answer at the latest, in ms; it gives up after 30 s (spec 6.5). Default 25,000. */
  deadlineMs?: number;
}

/** A request, whichever framework it came by. */
export interface Delivery {
  readonly method: string;
  readonly headers: HeaderSource;
  /** The raw bytes, or how to read them. */
  readonly body: Uint8Array | BodyReader;
}

export interface Receiver {
  /** Works one delivery through and says what to answer. Never rejects. */
  receive(delivery: Delivery): Promise<Reply>;
  /** From now on answers 503; resolves when everything accepted has ended, late handlers too. */
  close(): Promise<void>;
}

interface ReceiverSettings extends ProcessorSettings {
  source: string;
  toleranceSeconds: number;
  maxBodyBytes: number;
  deadlineMs: number;
}

const shape: OptionsShape<ReceiverSettings> = {
  ...processorShape,
  source: z.string().min(1).default("default"),
  toleranceSeconds: z.int().min(1).max(86_400).default(defaultToleranceSeconds),
  maxBodyBytes: z
    .int()
    .min(1)
    .default(1024 * 1024),
  deadlineMs: durationMs(1).default(25_000),
};

/**
 * The pipeline behind every adapter: limit, verify, parse, accept.
 * Throws `missing_secret`, `invalid_secret`, `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function createReceiver<Data = EsimEvents>(
  target: NoInfer<Target<Data>>,
  options: ReceiverOptions<Data> = {},
): Receiver {
  const { secret, ...rest } = options;
  const settings = parseOptions("webhook receiver", shape, rest);
  const { source, toleranceSeconds, maxBodyBytes, deadlineMs, store, leaseMs, logger, clock } = settings;
  const verify = createVerifier(secret, clock, logger);
  const catalog = settings.catalog as Catalog<Data>;
  if (isInbox(target) && store !== undefined) throw storeBesideInbox;
  const accept = isInbox(target)
    ? acceptInto<Data>(target)
    : acceptInline(
        createProcessor<Data>(target, { ...(store && { store }), catalog, leaseMs, logger, clock }),
      );
  const inFlight = new Set<Promise<unknown>>();
  let closing = false;

  async function workThrough(delivery: Delivery, signal: AbortSignal, seen: Seen): Promise<Outcome> {
    const receivedAt = new Date(clock.now());
    const refused = closing ? ({ code: "shutting_down" } as const) : refusalOf(delivery);
    if (refused !== undefined) return refused;
    const claimed = readClaim(delivery.headers, receivedAt.getTime(), toleranceSeconds);
    if (!claimed.ok) return claimed;
    seen.id = claimed.id;

    const body = await readBody(delivery, maxBodyBytes, signal);
    if (!(body instanceof Uint8Array)) return body;
    const proof = await verify(claimed, body, receivedAt.getTime());
    if (!proof.ok) return proof;
    seen.key = proof.key;

    const parsed = catalog.parse(proof.id, body);
    seen.type = parsed.kind === "invalid" ? parsed.type : parsed.event.type;
    return accept({ parsed, id: proof.id, body, source, receivedAt, signal });
  }

  function log(outcome: Outcome, seen: Seen): void {
    if (outcome.code === "body_consumed") warnOfSetup(logger, outcome.code, outcome.hint);
    logger[logLevelOf(outcome)](
      { source, ...seen, outcome: outcome.code, ...loggable(outcome) },
      "webhook delivery",
    );
  }

  return {
    async receive(delivery) {
      const seen: Seen = {};
      const deadline = startDeadline(deadlineMs);
      const work = workThrough(delivery, deadline.signal, seen)
        .catch((error: unknown): Outcome => ({ code: "internal_error", error }))
        .finally(() => inFlight.delete(work));
      inFlight.add(work);
      const outcome =
        (await Promise.race([work, deadline.reached])) ?? ({ code: "deadline_reached" } as const);
      deadline.clear();
      log(outcome, seen);
      if (outcome.code === "deadline_reached") void work.then((late) => log(late, { ...seen, late: true }));
      return replyTo(outcome);
    },
    async close() {
      closing = true;
      await Promise.all(inFlight);
    },
  };
}

/** What is known of a delivery so far, for its log line. */
interface Seen {
  id?: string;
  key?: string;
  type?: string | undefined;
  /** The answer had to be given before this outcome was known. */
  late?: boolean;
}

function refusalOf({ method, headers }: Delivery): Outcome | undefined {
  if (method !== "POST") return { code: "method_not_allowed" };
  const encoding = headerReader(headers)("content-encoding");
  return encoding === undefined || encoding === "identity" ? undefined : { code: "unsupported_encoding" };
}

async function readBody(
  { headers, body }: Delivery,
  maxBodyBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | BodyFault> {
  if (Number(headerReader(headers)("content-length")) > maxBodyBytes) return { code: "too_large" };
  if (!(body instanceof Uint8Array)) return body(maxBodyBytes, signal);
  return body.byteLength > maxBodyBytes ? { code: "too_large" } : body;
}

/** What an outcome adds to its log line. Issues by path alone: a schema's messages may quote personal data. */
function loggable(outcome: Outcome): Record<string, unknown> {
  if ("error" in outcome) return { err: outcome.error };
  if ("issues" in outcome) return { issues: outcome.issues.map((issue) => issue.path) };
  return "reason" in outcome ? { reason: outcome.reason } : {};
}

const storeBesideInbox = new WebhookError(
  "invalid_option",
  "A store was given together with an inbox, which deduplicates by itself.",
  "Leave the store out, or pass handlers in place of the inbox.",
);
