import { type ApiClient, ApiError, type EndpointWithSecret } from "@esim-webhooks/client";
import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import {
  callMs,
  freshKey,
  holdOffUntil,
  isFailure,
  isForgotten,
  isHeldOff,
  isRefusal,
} from "../change/service-call.ts";
import type { RotateSettings } from "./rotate-options.ts";
import type { AtCall } from "./rotation-change.ts";
import { presentKeys, writeRotation } from "./write-rotation.ts";

/** How many answers in a row may lack the secret. */
const mostHidden = 3;

/** Where the rotation is once the service was asked. */
export interface Asked {
  readonly endpoint: EndpointWithSecret;
  readonly at: AtCall;
}

/**
 * Has the service replace the secret, and resolves to its answer. The same key is used until the answer is known, in later processes,
 * too. If the answer does not show the secret, or the service no longer knows the key, the secret is replaced again, under a key
 * that is written first. So it is if a call of an earlier run is answered with a secret that may have been replaced since: `listedAt` is
 * the endpoint's `updatedAt` as it was listed, undefined for a call that this run is the first to make. An error that the service may
 * repeat for the key ends the run, and the next one asks under another key. Deliveries with an unknown signature are answered 503 all the time.
 */
export async function askNewSecret(
  api: Pick<ApiClient, "webhooks">,
  keyStore: KeyStore,
  begun: AtCall,
  listedAt: string | undefined,
  settings: RotateSettings,
): Promise<Asked> {
  const { clock, signal, logger } = settings;
  let at = begun;

  async function write(change: AtCall): Promise<void> {
    const held = { rotatingUntil: holdOffUntil(clock.now()), change: { ...change } };
    await writeRotation(keyStore, at, (record) => ({ ...record, ...held }), clock);
    at = change;
  }
  const withFreshKey = (): AtCall => ({ ...at, ...freshKey(clock.now()) });

  for (let hidden = 0; ; ) {
    if (isForgotten(at, clock.now())) await write(withFreshKey());
    else if (!isHeldOff(await presentKeys(keyStore), clock.now())) await write(at);
    try {
      const { idempotencyKey } = at;
      const options = { idempotencyKey, signal, timeoutMs: callMs };
      const endpoint = await api.webhooks.rotateSecret(at.endpoint, options);
      // the service repeats an old answer for 48 hours
      if (at !== begun || !mayBeReplaced(endpoint.updatedAt, listedAt)) return { endpoint, at };
      logger.warn(
        { endpoint: at.endpoint },
        "Somebody else may have replaced the secret since the call that is continued: it is replaced again.",
      );
      await write(withFreshKey());
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isFailure(error) || isRefusal(error)) {
        await write(withFreshKey());
        throw unfinished(error, "asks again, under another key");
      }
      hidden += 1;
      if (error.code !== "secret_not_shown" || hidden === mostHidden)
        throw unfinished(error, "continues with the same call");
      logger.warn(
        { endpoint: at.endpoint },
        "The service has replaced the secret without showing it: it is replaced again.",
      );
      await write(withFreshKey());
    }
  }
}

/** Whether somebody may have replaced the secret since `rotatedAt`: the endpoint was listed with a later `updatedAt`, or nobody can tell. */
export function mayBeReplaced(rotatedAt: string | null, listedAt: string | undefined): boolean {
  return listedAt !== undefined && !(dateTimeMs(rotatedAt) >= dateTimeMs(listedAt));
}

/**
 * The error of a call whose effect is not known. Its cause has neither body nor secret.
 * @param next what the next run does
 */
function unfinished(cause: ApiError, next: string): Error {
  return new WebhookError<ApiError["code"]>(
    cause.code,
    `The rotation is not finished. ${cause.message}`,
    `Rotate again soon: the next run ${next}. Deliveries with a new signature are answered 503 for up to 10 minutes, then 401.`,
    { cause },
  );
}
