import { ApiError, type EndpointWithSecret, type WebhookEndpoint } from "@esim-webhooks/client";
import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import type { EndpointErrorCode } from "../base/errors.ts";
import { type KeyChange, type Move, type Outcome, step } from "../change/advance.ts";
import { hasKey, withoutEndedKeys } from "../change/endpoint-keys.ts";
import {
  callMs,
  freshIdempotencyKey,
  holdingOff,
  isFailure,
  isForgotten,
  isHeldOff,
  isRefusal,
  isWithoutSecret,
  waitIfInFlight,
} from "../change/service-call.ts";
import type { KeyStoreState } from "../change/write-record.ts";
import { reconcileWhenFree } from "../reconcile/reconcile-when-free.ts";
import type { RotationReconciled } from "./rotate-options.ts";
import {
  type AtCall,
  type AtForm,
  type AtStored,
  type Begun,
  begunOf,
  endedElsewhere,
  presentRecord,
  type RotationRecord,
  rejectMoved,
  rotationIn,
} from "./rotation-record.ts";
import { endedWithEndpoint, isDeleted, type RotationRun, unlessDeleted } from "./rotation-run.ts";
import { withSecret } from "./store-new-key.ts";
import { type NewKeyUse, watchNewKey } from "./watch-new-key.ts";

/** The end of a rotation. */
export interface RotationEnd {
  readonly at: AtStored;
  /** The keys that are in the store when it has ended. */
  readonly keys: KeyRecord["keys"];
  readonly newKeyUse: NewKeyUse;
  readonly reconciled: RotationReconciled | null;
}

/** After this many answers without the secret, a run gives up. The next run continues. */
const mostWithoutSecret = 3;

/** The rotation of an endpoint's secret. */
export const rotation: KeyChange<RotationRun, RotationRecord, RotationEnd> = {
  find: ({ endpoint }, stored) => rotationIn(presentRecord(stored), endpoint),
  steps: {
    none: step(begin, { call: "the rotation is recorded, and receivers hold off" }),
    call: step(unlessDeleted(callService), {
      call: "the secret has to be replaced again, under another idempotency key, or the hold-off is renewed",
      form: "the secret has an unexpected form",
      stored: "the new key is stored, the old ones get an end",
      end: "the endpoint was deleted",
    }),
    form: step(unlessDeleted(readKeptSecret), {
      call: "the secret may have been replaced since",
      form: "the form is still unexpected",
      stored: "the new key is stored, the old ones get an end",
      end: "the endpoint was deleted",
    }),
    stored: step(unlessDeleted(finish), {
      end: "the old keys have ended and are removed, or the endpoint was deleted",
    }),
  },
  whenMovedOn: (_, stored) => rejectMoved(stored),
};

/** Once the rotation is recorded, receivers answer 503 to unknown signatures, so that the secret can be replaced. */
async function begin(run: RotationRun): Promise<Move<"call">> {
  const { clock, endpoint, listed } = run;
  if (run.hasBegun) throw endedElsewhere();
  run.hasBegun = true;
  const nowMs = clock.now();
  const { updatedAt = "" } = listed ?? {};
  const startedAt = new Date(nowMs).toISOString();
  return callWithFreshIdempotencyKey(run, { kind: "rotate", endpoint, startedAt, updatedAt });
}

/** Has the service replace the secret. All runs use the same idempotency key until the answer is known or 47 hours have passed. */
async function callService(
  run: RotationRun,
  at: AtCall,
  { record }: KeyStoreState,
): Promise<Outcome<"call" | "form" | "stored" | "end">> {
  const { api, clock, signal, logger, endpoint, listed } = run;
  const nowMs = clock.now();
  if (isForgotten(at, nowMs)) return callWithFreshIdempotencyKey(run, at);
  if (!isHeldOff(record, nowMs)) return { nextStep: at, keys: holdingOff(nowMs) };
  const { idempotencyKey } = at;
  let answer: EndpointWithSecret;
  try {
    answer = await api.webhooks.rotateSecret(endpoint, { idempotencyKey, signal, timeoutMs: callMs });
  } catch (error) {
    return afterError(run, at, error);
  }
  const { signingSecret: secret, updatedAt } = answer;
  // the service repeats an old answer for 48 hours
  if (!run.idempotencyKeysMade.has(idempotencyKey) && mayBeReplaced(updatedAt, listed)) {
    logger.warn(
      { endpoint },
      "The secret may have been replaced again since the call that is continued: it is replaced once more.",
    );
    return callWithFreshIdempotencyKey(run, at);
  }
  return withSecret(run, at, { secret, rotatedAt: updatedAt === at.updatedAt ? null : updatedAt }, record);
}

async function afterError(
  run: RotationRun,
  at: AtCall,
  error: unknown,
): Promise<Move<"call" | "end"> | undefined> {
  if (!(error instanceof ApiError)) throw error;
  // before isRefusal, which would record a new idempotency key for an endpoint that is gone
  if (error.code === "not_found" && (await isDeleted(run))) return endedWithEndpoint(run);
  try {
    if (await waitIfInFlight(error, run)) return undefined;
  } catch (inFlight) {
    throw inFlight instanceof ApiError ? unfinished(inFlight, "continues with the same call") : inFlight;
  }
  // the service may repeat the error for the idempotency key
  if (isFailure(error) || isRefusal(error)) {
    return callWithFreshIdempotencyKey(run, at, () => {
      throw unfinished(error, "asks again, under another idempotency key");
    });
  }
  if (isWithoutSecret(error)) run.answersWithoutSecret += 1;
  if (!isWithoutSecret(error) || run.answersWithoutSecret === mostWithoutSecret)
    throw unfinished(error, "continues with the same call");
  run.logger.warn(
    { endpoint: run.endpoint },
    "The service has replaced the secret without showing it: it is replaced again.",
  );
  return callWithFreshIdempotencyKey(run, at);
}

/** Reads the secret that an earlier run has kept. If the secret may have been replaced since, it is replaced again. */
async function readKeptSecret(
  run: RotationRun,
  at: AtForm,
  { record }: KeyStoreState,
): Promise<Move<"call" | "form" | "stored">> {
  if (!mayBeReplaced(at.rotatedAt ?? at.updatedAt, run.listed)) return withSecret(run, at, at, record);
  run.logger.warn(
    { endpoint: run.endpoint },
    "The secret may have been replaced again since the one that was kept: it is replaced once more.",
  );
  return callWithFreshIdempotencyKey(run, at);
}

/**
 * Waits until the old keys end, and watches in the listing how receivers answer deliveries with the new key. Then a pass recovers the events
 * that were missed, and the old keys are removed.
 */
async function finish(run: RotationRun, at: AtStored): Promise<Move<"end", RotationEnd>> {
  const { api, clock, logger, endpoint } = run;
  const { newKey } = at;
  const fields = { endpoint, key: newKey };
  const newKeyUse = await watchNewKey(api, at, run);
  logger.info({ ...fields, newKeyUse }, "Looked for deliveries with the new key.");
  const reconciled = await reconcileCost(run);
  return {
    nextStep: undefined,
    keys: ({ keys }) => ({ keys: withoutEndedKeys(keys, clock.now()) }),
    isMade: (now) => now.change === undefined && hasKey(now, newKey),
    whenWritten({ keys }) {
      logger.info(fields, "The rotation is finished.");
      return { result: { at, keys, newKeyUse, reconciled } };
    },
  };
}

/** Recovers the missed events. The old keys have ended, so the listing has had time to show these events. */
async function reconcileCost(run: RotationRun): Promise<RotationReconciled | null> {
  const { reconcile, signal } = run;
  if (reconcile === undefined) return null;
  const reconciled = await reconcileWhenFree(() => reconcile({ signal }), run);
  signal.throwIfAborted();
  if (!reconciled.interrupted && !reconciled.dryRun) return reconciled;
  throw new WebhookError<EndpointErrorCode>(
    "not_settled",
    `What the rotation may have cost was not reconciled: the pass was ${reconciled.dryRun ? "a dry run" : "interrupted"}.`,
    "Rotate again: it reconciles again. The new key is in use meanwhile.",
  );
}

/** Records the call with an idempotency key that no call has used. */
function callWithFreshIdempotencyKey(
  run: RotationRun,
  begun: Omit<Begun, "idempotencyKey" | "keyedAt">,
  whenWritten?: () => never,
): Move<"call"> {
  const nowMs = run.clock.now();
  const nextStep: AtCall = { ...begunOf({ ...begun, ...freshIdempotencyKey(nowMs) }), step: "call" };
  run.idempotencyKeysMade.add(nextStep.idempotencyKey);
  return { nextStep, keys: holdingOff(nowMs), ...(whenWritten && { whenWritten }) };
}

/** Whether another program may have replaced the secret since `rotatedAt`: the endpoint was listed with a later `updatedAt`, or one of the two times is missing. */
function mayBeReplaced(rotatedAt: string | null, listed: WebhookEndpoint | undefined): boolean {
  return listed !== undefined && !(dateTimeMs(rotatedAt) >= dateTimeMs(listed.updatedAt));
}

/**
 * The error of a run that ends before the rotation is finished. Its cause has no secret.
 * @param next what the next run does
 */
function unfinished(cause: ApiError, next: string): Error {
  const { code, where, problem, remedy, retryable } = cause;
  const advice = retryable ? "" : ` ${remedy}`; // the remedy of a retryable error says how to repeat the call, which the next run does
  return new WebhookError<ApiError["code"]>(
    code,
    `The rotation is not finished. ${where === undefined ? "" : `${where}: `}${problem}${advice}`,
    `Rotate again soon: the next run ${next}. Deliveries with a new signature are answered 503 for up to 10 minutes, then 401.`,
    { cause },
  );
}
