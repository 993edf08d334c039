import type { Awaitable } from "../base/awaitable.ts";
import { dateTimeMs } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { checkArguments } from "../base/options.ts";
import { outcomeFields } from "../base/trace.ts";
import { andThen, createDeadline, type Deadline, isPromise, tryThen } from "../base/waiting.ts";
import type { Catalog, Parsed } from "../event/catalog.ts";
import { knownEncoding } from "../event/compression.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import { checkAtStart } from "../process/processor.ts";
import { type HeaderReader, headerReader, headerText, readSignedHeaders } from "../verify/headers.ts";
import { finerUnit, refuseBySkew } from "../verify/tolerance.ts";
import { createBodyIntake, freeRefused, type WholeBody } from "./body-intake.ts";
import type { Delivery, Received, Receiver } from "./delivery.ts";
import { createEndpoints, type Endpoints } from "./endpoints.ts";
import type { Outcome, OutcomeCode } from "./outcome.ts";
import { createOutcomeLog, type Seen } from "./outcome-log.ts";
import { receiveStage } from "./receive-stage.ts";
import {
  checkReplayWindow,
  type EndpointLookup,
  type ReceiverOptions,
  readReceiverOptions,
} from "./receiver-options.ts";
import { replyTo } from "./reply.ts";
import { registerSource } from "./shared-source.ts";
import { acceptFor, isInbox, type Target } from "./target.ts";
import { createVerifier, knownKeys, type Verifier, verifyStage } from "./verifier.ts";

/**
 * Makes the pipeline behind every adapter: limit, verify, parse, accept.
 * Throws `missing_secret`, `invalid_secret`, `unknown_event_type` or `invalid_option` when the set-up is wrong.
 * @param target a map of handlers, or an inbox
 * @param options the same for all adapters
 * @param ownOptions for adapters: the names of options of their own. They may be among `options`, and messages name them.
 */
export function createReceiver<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx> = {},
  ownOptions: readonly string[] = [],
): Receiver {
  const receiver = receiverWith(createVerifier, target, options, ownOptions);
  checkAtStart(options.store);
  return receiver;
}

/** Makes a receiver whose verifier is made by `makeVerifier`: `createVerifier` or `createVerifierOnDemand`. */
export function receiverWith<Data, Tx>(
  makeVerifier: typeof createVerifier,
  target: Target<Data, Tx>,
  options: ReceiverOptions<Data, Tx>,
  ownOptions: readonly string[] = [],
): Receiver {
  checkArguments(
    "webhook receiver",
    { target: [target, "an inbox", "a map of handlers"], options: [options] },
    "Pass handlers or an inbox, not both, then options such as { secret, store }. Events of an inbox are handled by a worker: createWorker(inbox, handlers).",
  );
  const settings = readReceiverOptions(options, ownOptions);
  const { source, tolerance, deadlineMs, store, leaseMs, clock, logger, drift } = settings;
  const catalog = settings.catalog as Catalog<Data>;
  const readBody = createBodyIntake(settings);
  const watch = (verify: Verifier["verify"], source: string): Verifier["verify"] =>
    verifyStage.around(
      verify,
      (signed) => ({ source, id: headerText(signed.id) }),
      (found, { timestamp }, _body, atMs) => {
        if (found.ok) return { outcome: "verified", key: found.key };
        const { endedKey } = found as { readonly endedKey?: string };
        const isOld = refuseBySkew(Number(timestamp), atMs, tolerance) !== undefined; // perhaps a capture that is replayed
        return { outcome: found.code, ...(endedKey !== undefined && !isOld && { endedKey }) };
      },
    );
  const verifier = settings.endpoints ? undefined : makeVerifier(options, clock, logger);
  const accept = acceptFor<Data, Tx>(target, { store, catalog, leaseMs, logger, clock });
  const log = createOutcomeLog(logger);
  const idStore = isInbox(target) ? target : store; // remembers which ids were stored or done
  checkReplayWindow(tolerance, idStore);
  const endpoints = verifier ? endpointOf(verifier) : endpointsFrom(settings.endpoints as EndpointLookup);
  const closeController = () => (controller ??= new AbortController());
  let controller: AbortController | undefined; // created late: workerd allows none while a module is loaded
  let inFlight = 0;
  let newestSigned = 0;
  let onIdle = () => {};
  let closed: Promise<void> | undefined;

  function endpointsFrom(lookUp: EndpointLookup): Endpoints {
    return createEndpoints(lookUp, { clock, logger, idStore: idStore ?? {}, watch });
  }

  function endpointOf(verifier: Verifier): Endpoints {
    const endpoint = { source, verify: watch(verifier.verify, source) };
    const leave = idStore && registerSource(idStore, source, knownKeys(options, clock.now()), logger);
    return { find: () => endpoint, ready: verifier.ready, close: () => leave?.() };
  }

  /** Runs the pipeline: limit, verify, parse, accept. Returns a promise only if a step returns one. */
  function run(delivery: Delivery, seen: Seen, deadline: Deadline): Awaitable<Outcome> {
    if (closed !== undefined) return { code: "shutting_down" };
    if (delivery.method !== "POST") return { code: "method_not_allowed" };
    const receivedAt = new Date(clock.now());
    const header = headerReader(delivery.headers);
    const signed = readSignedHeaders(header);
    if (!signed.ok) return signed;
    seen.id = headerText(signed.id);

    return andThen(endpoints.find(delivery.path), (endpoint) => {
      if ("code" in endpoint) return endpoint;
      const { source } = endpoint;
      seen.source = source;
      return andThen(readBody(delivery.body, header), (body) => {
        if ("code" in body) return body;
        return andThen(endpoint.verify(signed, body.bytes, receivedAt.getTime()), (proof) => {
          if ("key" in proof) seen.key = proof.key;
          if (!proof.ok)
            return refuse(body, mayBeEncoded(proof, header) ? unsupportedEncoding(header) : proof);
          const skewed = refuseBySkew(proof.timestamp, receivedAt.getTime(), tolerance);
          // anybody can replay a capture: an old timestamp shows the skew of the clocks only if no other delivery had a newer one
          if (
            finerUnit(proof.timestamp) === undefined &&
            (skewed === undefined || proof.timestamp > newestSigned)
          )
            seen.skewSeconds = proof.timestamp - Math.floor(receivedAt.getTime() / 1000);
          newestSigned = Math.max(newestSigned, proof.timestamp);
          if (skewed !== undefined) return refuse(body, skewed);

          seen.id = proof.id;
          const parsed = parse(proof.id, body.bytes, header);
          if (parsed.type !== null) seen.type = parsed.type;
          if (parsed.event !== null) seen.occurred = parsed.event.timestamp;
          drift?.see(parsed, receivedAt);
          return accept({
            parsed,
            id: proof.id,
            body: body.bytes,
            source,
            receivedAt,
            key: proof.key,
            deadline,
          });
        });
      });
    });
  }

  /** Parses a body. Reads the content-encoding only if that fails, since it takes long to find that a header is missing. */
  function parse(id: string, body: Uint8Array, header: HeaderReader): Parsed<Data> {
    const parsed = catalog.parse(id, body);
    return parsed.kind === "invalid" && parsed.type === null
      ? catalog.parse(id, body, header("content-encoding"))
      : parsed;
  }

  /** Returns the outcome of a delivery, or `deadline_reached`. Never rejects. An outcome that is late is logged when it is known. */
  function runInTime(delivery: Delivery, seen: Seen, startedAt: number): Awaitable<Outcome> {
    const limitMs = Math.min(deadlineMs, delivery.remainingMs ?? deadlineMs);
    if (!(limitMs > 0)) return { code: "deadline_reached" };
    const deadline = createDeadline(limitMs, startedAt);
    inFlight += 1;
    const running = tryThen(() => run(delivery, seen, deadline), endDelivery, endWithError);
    if (!isPromise(running)) return running;
    delivery.waitUntil?.(running);
    return deadline.before(running).then((outcome) => {
      if (outcome !== undefined) return outcome;
      void running.then((late) => log(late, { ...seen, late: true }, startedAt));
      return { code: "deadline_reached" };
    });
  }

  function endDelivery(outcome: Outcome): Outcome {
    inFlight -= 1;
    if (inFlight === 0) onIdle();
    return outcome;
  }

  function endWithError(error: unknown): Outcome {
    return endDelivery({ code: "internal_error", error });
  }

  const outcomeOf = receiveStage.around(
    runInTime,
    (_delivery, { source }) => (source === undefined ? {} : { source }),
    (outcome, _delivery, { occurred, ...seen }) => ({
      ...seen,
      ...(occurred !== undefined && { lagMs: Date.now() - dateTimeMs(occurred) }),
      ...outcomeFields(outcome),
      ...("conflict" in outcome && { conflict: true }),
    }),
  );

  function answer(outcome: Outcome, seen: Seen, startedAt: number): Received {
    log(outcome, seen, startedAt);
    const { status, headers, body } = replyTo(outcome);
    return { status, headers, body, outcome };
  }

  return {
    hasEndpoints: settings.endpoints !== undefined,
    async ready() {
      if (closed === undefined) return endpoints.ready();
      throw new WebhookError(
        "shutting_down",
        "The receiver was closed, and answers 503.",
        "Make another one.",
      );
    },
    get closing() {
      return closeController().signal;
    },
    receive(delivery) {
      const seen: Seen = settings.endpoints ? {} : { source };
      const startedAt = performance.now();
      const outcome = outcomeOf(delivery, seen, startedAt);
      if (!isPromise(outcome)) return Promise.resolve(answer(outcome, seen, startedAt));
      return outcome.then((known) => answer(known, seen, startedAt));
    },
    close() {
      endpoints.close();
      closed ??= new Promise((resolve) => {
        onIdle = () => setImmediate(resolve); // late work is logged first
        if (inFlight === 0) onIdle();
      }).then(() => drift?.flush());
      closeController().abort();
      return closed;
    },
  };
}

/** Frees the memory of a body, and returns the outcome. */
function refuse(body: WholeBody, outcome: Outcome): Outcome {
  freeRefused(body);
  return outcome;
}

/** Whether the content-encoding of the body may be the reason why no key matches: the signature may cover the decoded bytes. */
function mayBeEncoded({ code }: { readonly code: OutcomeCode }, header: HeaderReader): boolean {
  const encoding = header("content-encoding");
  return code === "no_matching_key" && encoding !== undefined && !/^(identity)?$/i.test(encoding);
}

function unsupportedEncoding(header: HeaderReader): Outcome {
  const known = knownEncoding(header("content-encoding"));
  return {
    code: "unsupported_encoding",
    reason:
      `the body has a content-encoding${known ? ` (${known})` : ""}, and no key matches its bytes as they came: let a proxy in front of ` +
      "the receiver inflate it, or in Express mount express.raw({ type: () => true }) before the router",
  };
}
