import {
  type ApiClient,
  ApiError,
  type EndpointWithSecret,
  type WebhookEndpoint,
} from "@esim-webhooks/client";
import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import type { EndpointErrorCode } from "../base/errors.ts";
import { endpointIn, endpointsOfUrl, listEndpoints } from "../base/list-endpoints.ts";
import type { SecretForm } from "../base/options.ts";
import type { Move, Outcome } from "../change/advance.ts";
import { hasGotKey, storedSecret, withKey, withoutEndedKeys } from "../change/endpoint-keys.ts";
import {
  arrivalUntil,
  type CallingRun,
  callMs,
  freshIdempotencyKey,
  holdingOff,
  type IdempotentCall,
  isFailure,
  isForgotten,
  isHeldOff,
  isRefusal,
  isWithoutSecret,
  waitIfInFlight,
} from "../change/service-call.ts";
import type { KeyStoreState } from "../change/write-record.ts";
import type { Alone, AtCreate, AtRotate, Creation, InPlace } from "./change-records.ts";

/** The parts of a run that registers an endpoint. */
export interface CreationRun extends CallingRun {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly secretForm?: SecretForm | undefined;
  /** The idempotency keys that this run has made. A call under another one may have been made before. */
  readonly idempotencyKeysMade: Set<string>;
}

/** Returns how the change continues once the secret of the endpoint is stored. */
export type Follow<Run, Kind extends Alone | InPlace, After extends string> = (
  run: Run,
  at: Creation<Kind>,
  made: EndpointWithSecret,
) => Pick<Move<After>, "nextStep" | "whenWritten">;

/** A run gives up after each third answer without the secret, counted over all runs. The next run continues. */
const mostHidden = 3;
/** The service forgets an idempotency key after this time: an endpoint that was registered later is not the one of this call. */
const madeWithinMs = 48 * 60 * 60_000;

/** Begins a creation, unless the key store has been written since it was read: another process may have registered the endpoint. */
export function begun(run: CreationRun, creation: AtCreate): Move<"create"> {
  return { nextStep: creation, ...calling(run, creation), ifUnwritten: true };
}

/** The step that registers the endpoint. Taken again, it registers no second one. */
export function createStep<Run extends CreationRun, Kind extends Alone | InPlace, After extends string>(
  follow: Follow<Run, Kind, After>,
): (
  run: Run,
  at: AtCreate<Kind>,
  stored: KeyStoreState,
) => Promise<Outcome<"create" | "rotate" | "end" | After>> {
  return async (run, at, { record }) => {
    const { api, clock, signal } = run;
    const nowMs = clock.now();
    if (!isHeldOff(record, nowMs)) return { nextStep: at as AtCreate, keys: holdingOff(nowMs) };
    const { url, eventTypes, description, idempotencyKey } = at;
    const isContinued = !run.idempotencyKeysMade.has(idempotencyKey);
    if (at.failed || isForgotten(at, nowMs)) {
      const made = await findMade(run, at);
      return made === undefined ? ended() : secretLost(run, at, made);
    }
    let made: EndpointWithSecret;
    try {
      made = await api.webhooks.create(
        { url, eventTypes, description },
        { idempotencyKey, signal, timeoutMs: callMs },
      );
    } catch (error) {
      if (await waitIfInFlight(error, run)) return undefined;
      // the next run looks in the listing, which may show the endpoint late
      if (isFailure(error))
        return { nextStep: { ...(at as AtCreate), failed: true }, ...calling(run, at), ...throwing(error) };
      const isHidden = isWithoutSecret(error);
      if (!isHidden && !isRefusal(error)) throw error;
      if (isHidden || isContinued || isRepeated(error)) {
        const lost = await findMade(run, at); // a refusal says nothing of the attempts before it
        if (lost !== undefined) return secretLost(run, { ...at, hidden: at.hidden + 1 }, lost);
        if (isHidden) throw error;
      }
      const isCap = error instanceof ApiError && error.code === "conflict";
      return ended(isCap ? atTheCap(error) : error);
    }
    return (isContinued && (await outdated(run, at, made))) || withSecret(run, at, made, record, follow);
  };
}

/** The step that gets another secret for an endpoint whose first secret is lost. No refusal of the service ends the creation, except `not_found`. */
export function rotateStep<Run extends CreationRun, Kind extends Alone | InPlace, After extends string>(
  follow: Follow<Run, Kind, After>,
): (run: Run, at: AtRotate<Kind>, stored: KeyStoreState) => Promise<Outcome<"rotate" | "end" | After>> {
  return async (run, at, { record }) => {
    const { api, clock, signal } = run;
    const nowMs = clock.now();
    if (!isHeldOff(record, nowMs)) return { nextStep: at as AtRotate, keys: holdingOff(nowMs) };
    const { endpoint, idempotencyKey } = at;
    let made: EndpointWithSecret;
    try {
      made = await api.webhooks.rotateSecret(endpoint, { idempotencyKey, signal, timeoutMs: callMs });
    } catch (error) {
      if (error instanceof ApiError && error.code === "not_found") return ended(error);
      if (await waitIfInFlight(error, run)) return undefined;
      if (isWithoutSecret(error)) {
        const hidden = at.hidden + 1;
        return {
          ...secretLost(run, { ...at, hidden }, endpoint),
          ...(hidden % mostHidden === 0 && throwing(error)),
        };
      }
      if (!isRefusal(error) && !isFailure(error)) throw error;
      return { ...secretLost(run, at, endpoint), ...throwing(error) };
    }
    const isContinued = !run.idempotencyKeysMade.has(idempotencyKey);
    return (isContinued && (await outdated(run, at, made))) || withSecret(run, at, made, record, follow);
  };
}

/** Notes an idempotency key of this run, and returns the keys to record with its call: receivers hold off what is signed with the secret that the call shows. */
function calling(
  { clock, idempotencyKeysMade }: CreationRun,
  { idempotencyKey }: IdempotentCall,
): Pick<Move<never>, "keys"> {
  idempotencyKeysMade.add(idempotencyKey);
  return { keys: holdingOff(clock.now()) };
}

/** The endpoint is registered, and its secret is lost: the endpoint gets another secret. */
function secretLost(
  run: CreationRun,
  { failed: _, ...creation }: Creation,
  endpoint: string,
): Move<"rotate"> {
  const nextStep: AtRotate = {
    ...creation,
    step: "rotate",
    endpoint,
    ...freshIdempotencyKey(run.clock.now()),
  };
  return { nextStep, ...calling(run, nextStep) };
}

/** The end of a creation that has registered no endpoint, or whose endpoint was deleted since. */
function ended(error?: unknown): Move<"end"> {
  return { nextStep: undefined, keys: ({ keys }) => ({ keys }), ...(error !== undefined && throwing(error)) };
}

function throwing(error: unknown): { whenWritten(): never } {
  return {
    whenWritten() {
      throw error;
    },
  };
}

/** Returns the next move if an answer is an old one: the endpoint was deleted since, or may have another secret. Undefined: the answer is up to date. */
async function outdated(
  run: CreationRun,
  at: Creation,
  { webhookEndpointReference: reference, updatedAt }: EndpointWithSecret,
): Promise<Move<"rotate" | "end"> | undefined> {
  const now = endpointIn(await listEndpoints(run.api, run.signal), reference);
  if (now === undefined) return ended();
  return dateTimeMs(now.updatedAt) <= dateTimeMs(updatedAt) ? undefined : secretLost(run, at, reference);
}

function withSecret<Run extends CreationRun, Kind extends Alone | InPlace, After extends string>(
  run: Run,
  at: Creation<Kind>,
  made: EndpointWithSecret,
  record: KeyRecord,
  follow: Follow<Run, Kind, After>,
): Move<After> {
  const { signingSecret, webhookEndpointReference: endpoint } = made;
  const secret = storedSecret(signingSecret, run.secretForm, record);
  if (secret === undefined) throw unreadable();
  const nowMs = run.clock.now();
  return {
    ...follow(run, at, made),
    keys: ({ keys }) => ({
      keys: withKey(withoutEndedKeys(keys, nowMs), secret, endpoint),
      // attempts that are under way may be signed with the lost secret
      ...(at.step === "rotate" && { rotatingUntil: arrivalUntil(nowMs) }),
    }),
    secret: { isFinishedElsewhere: (now) => hasGotKey(now, record, endpoint) },
  };
}

/** Finds the endpoint that the creation has registered in the listing; undefined if the listing has none. */
async function findMade({ api, signal }: CreationRun, at: Creation): Promise<string | undefined> {
  const { ofUrl } = await endpointsOfUrl(api, at.url, signal);
  return ofUrl.findLast((endpoint) => isMadeBy(at, endpoint))?.webhookEndpointReference;
}

function isMadeBy({ known, eventTypes, description, keyedAt }: Creation, endpoint: WebhookEndpoint): boolean {
  return (
    !known.includes(endpoint.webhookEndpointReference) &&
    endpoint.eventTypes.length === eventTypes.length &&
    endpoint.eventTypes.every((type) => eventTypes.includes(type)) &&
    (endpoint.description ?? "") === (description ?? "") &&
    !(dateTimeMs(endpoint.createdAt) > dateTimeMs(keyedAt) + madeWithinMs)
  );
}

/** Whether the service was asked more than once: the error says nothing of the attempts before the last one. */
function isRepeated(error: unknown): boolean {
  return error instanceof ApiError && (error.attempts ?? 0) > 1;
}

/** The most endpoints that the API documents for a client. In another place, it documents three. */
const mostEndpoints = 5;

/** Throws `endpoint_cap` if the service would surely refuse another endpoint. */
export function checkCap(all: readonly WebhookEndpoint[]): void {
  if (all.length >= mostEndpoints) throw atTheCap();
}

function atTheCap(cause?: unknown): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "endpoint_cap",
    "The client has as many endpoints as the service allows, inactive ones too. Nothing was changed.",
    "Reconcile one that is not needed, then delete it: the API lists them all.",
    { cause },
  );
}

function unreadable(): WebhookError {
  return new WebhookError(
    "invalid_secret",
    "The endpoint is registered, but its secret cannot be read in the expected form.",
    "Run it again with the option secretForm: hex, base64 or utf8. It continues with the same endpoint.",
    { option: "secretForm" },
  );
}
