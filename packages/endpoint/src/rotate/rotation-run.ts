import { type ApiClient, ApiError, type WebhookEndpoint } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { type EndpointErrorCode, hasCode } from "../base/errors.ts";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";
import type { Move, Outcome } from "../change/advance.ts";
import { endKeys } from "../change/endpoint-keys.ts";
import type { CallingRun } from "../change/service-call.ts";
import type { KeyStoreState } from "../change/write-record.ts";
import type { RotateSettings } from "./rotate-options.ts";

/** An endpoint as the client has it. */
export interface ListedEndpoint {
  /** Undefined: the client does not have the endpoint. */
  readonly listed: WebhookEndpoint | undefined;
  /** Whether the client has exactly one endpoint. */
  readonly isOnly: boolean;
}

/** The parts of a run of a rotation. */
export interface RotationRun extends RotateSettings, CallingRun, ListedEndpoint {
  readonly api: Pick<ApiClient, "webhooks">;
  /** The reference of the endpoint. */
  readonly endpoint: string;
  /** Whether the run has found a rotation, or begun one. It begins no second one. */
  hasBegun: boolean;
  /** The idempotency keys that this run has made: no earlier call can have used them. */
  readonly idempotencyKeysMade: Set<string>;
  /** How many answers of this run lacked the secret. */
  answersWithoutSecret: number;
}

/** Looks up the endpoint of a rotation that has begun. If the client no longer has the endpoint, the rotation ends. */
export async function lookUp(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<ListedEndpoint> {
  const all = await listEndpoints(api, signal);
  return { listed: endpointIn(all, endpoint), isOnly: all.length === 1 };
}

/** Looks up an endpoint that the client must have. Otherwise rejects with `endpoint_unknown`, which lists the client's endpoints. */
export async function lookUpExisting(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<ListedEndpoint & { readonly listed: WebhookEndpoint }> {
  const all = await listEndpoints(api, signal);
  const listed = endpointIn(all, endpoint);
  if (listed !== undefined) return { listed, isOnly: all.length === 1 };
  const names = all.map((one) => JSON.stringify(one.webhookEndpointReference));
  throw new WebhookError<EndpointErrorCode>(
    "endpoint_unknown",
    `The client has no endpoint ${JSON.stringify(endpoint)}.`,
    names.length === 0 ? "It has none." : `It has ${names.join(", ")}.`,
    { endpoint },
  );
}

/** Returns a step that ends the rotation if the client no longer has the endpoint: then the key store is free for other changes. */
export function unlessDeleted<At, Next extends string, Result = never>(
  take: (run: RotationRun, at: At, stored: KeyStoreState) => Promise<Outcome<Next, Result>>,
): (run: RotationRun, at: At, stored: KeyStoreState) => Promise<Outcome<Next | "end", Result>> {
  return async (run, at, stored) => {
    try {
      if (run.listed !== undefined) return await take(run, at, stored);
    } catch (error) {
      const isUnknown =
        (error instanceof ApiError && error.code === "not_found") || hasCode(error, "endpoint_unknown");
      if (!isUnknown || !(await isDeleted(run))) throw error;
    }
    return endedWithEndpoint(run);
  };
}

export async function isDeleted({ api, endpoint, signal }: RotationRun): Promise<boolean> {
  const all = await listEndpoints(api, signal).catch(() => undefined); // a failed listing shows nothing
  return all !== undefined && endpointIn(all, endpoint) === undefined;
}

/** Ends the rotation. Attempts to deliver to the endpoint may be under way, so its keys stay valid for the overlap. Keys that name no endpoint may be another one's. */
export function endedWithEndpoint({ endpoint, clock, logger, overlapMs }: RotationRun): Move<"end"> {
  const endMs = clock.now() + overlapMs;
  const endsAt = new Date(endMs).toISOString();
  return {
    nextStep: undefined,
    keys: ({ keys }) => ({ keys: endKeys(keys, { endpoint, ownsUnlabelledKey: false }, endMs) }),
    whenWritten() {
      logger.warn(
        { endpoint, endsAt },
        "The endpoint is gone, so its rotation was ended, and the keys that name it end. The others stay.",
      );
      throw new WebhookError<EndpointErrorCode>(
        "endpoint_unknown",
        `The endpoint ${JSON.stringify(endpoint)} was deleted, so its rotation was ended.`,
        `There is nothing left to rotate. The keys that name it are valid until ${endsAt}, the other keys stay. If you need the endpoint, register it again with ensureEndpoint.`,
        { endpoint },
      );
    },
  };
}
