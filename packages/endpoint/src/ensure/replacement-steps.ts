import { type ApiClient, ApiError } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { type EndpointErrorCode, hasCode } from "../base/errors.ts";
import { endpointIn, endpointsOfUrl, listEndpoints, shownAddress } from "../base/list-endpoints.ts";
import { waitUntil } from "../base/waiting-clock.ts";
import { type KeyChange, type Move, type Outcome, step } from "../change/advance.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { endKeys, ownerIn, withoutEndedKeys } from "../change/endpoint-keys.ts";
import type { KeyStoreState } from "../change/write-record.ts";
import {
  type AtDrop,
  type AtReconcile,
  beginning,
  type InPlace,
  ownerOf,
  type Replacement,
  replacementAfter,
  replacementIn,
} from "./change-records.ts";
import { listed } from "./compare-types.ts";
import { begun, type CreationRun, checkCap, createStep, type Follow, rotateStep } from "./creation-steps.ts";
import { type FirstReconciled, notSettled, type ReplaceSettings, reconcileFirst } from "./replace-options.ts";

/** The parts of a run of `replaceEndpoint`. */
export interface ReplaceRun extends Omit<ReplaceSettings<FirstReconciled>, "eventTypes">, CreationRun {
  /** The event types that the second endpoint is to have. */
  readonly eventTypes: readonly string[];
  /** The types that the service offers. */
  readonly offered: readonly string[];
  /** The result of the last pass of the first endpoint; null until this run has made that pass. */
  reconciled: FirstReconciled | null;
}

/** The end of a replacement. */
export interface ReplacementEnd {
  /** The last step of the replacement. Undefined: there was nothing to do. */
  readonly replaced: AtDrop | undefined;
  readonly reconciled: FirstReconciled | null;
}

const secondIsThere: Follow<ReplaceRun, InPlace, "reconcile"> = ({ logger }, at, made) => {
  const { webhookEndpointReference: endpoint } = made;
  return {
    nextStep: replacementAfter(at, made),
    whenWritten: () => void logger.info({ endpoint }, "The second endpoint is there."),
  };
};

/** The replacement of an endpoint by a second one. */
export const replacement: KeyChange<ReplaceRun, Replacement, ReplacementEnd> = {
  find: ({ url }, { record }) => replacementIn(record, url),
  steps: {
    none: step(begin, { create: "the endpoint has other event types, and is reconciled" }),
    create: step(createStep(secondIsThere), {
      create: "the service failed, or the hold-off is renewed",
      rotate: "the second endpoint is registered, its secret is lost",
      reconcile: "the secret is stored",
      end: "nothing was registered",
    }),
    rotate: step(rotateStep(secondIsThere), {
      rotate: "the secret is still not known, or the hold-off is renewed",
      reconcile: "the secret is stored",
      end: "the second endpoint was deleted",
    }),
    reconcile: step(deleteFirst, {
      drop: "the first endpoint is reconciled again and deleted",
      end: "the second endpoint was deleted",
    }),
    drop: step(dropKeys, { end: "the keys of the first endpoint have ended and are removed" }),
  },
};

/**
 * Returns a result if the endpoint need not be replaced. Otherwise reconciles it, then begins the replacement. Throws `endpoint_unknown` if the
 * URL has no endpoint, or several; `endpoint_cap` if the client cannot have another endpoint; `change_under_way` if another change must be
 * finished first; and `not_settled` if events of the endpoint would be lost with it.
 */
async function begin(
  run: ReplaceRun,
  _at: undefined,
  { record }: KeyStoreState,
): Promise<Outcome<"create", ReplacementEnd>> {
  if (record.change !== undefined) throw changeUnderWay(record.change);
  const { api, url, eventTypes, offered, clock, signal, reconciled } = run;
  const { all, ofUrl } = await endpointsOfUrl(api, url, signal);
  const [first, another] = ofUrl;
  if (first === undefined) {
    throw unclear(
      `The client has no endpoint of ${shownAddress(url)}.`,
      "Register one first: there is nothing to replace.",
    );
  }
  if (another !== undefined) {
    const references = listed(ofUrl.map(({ webhookEndpointReference }) => webhookEndpointReference));
    throw unclear(
      `The client has several endpoints of ${shownAddress(url)}, ${references}: it is not clear which one to replace.`,
      "Reconcile those that are not needed, then delete them.",
    );
  }
  const got = first.eventTypes.filter((type) => offered.includes(type));
  const isWished = got.length === eventTypes.length && got.every((type) => eventTypes.includes(type));
  if (first.active && isWished) return { result: { replaced: undefined, reconciled } };
  checkCap(all);
  const replaces = first.webhookEndpointReference;
  await reconcileFirst(replaces, run); // errors of the target show before anything is changed, and the last pass is short
  const nowMs = clock.now();
  const description = run.description ?? first.description;
  return begun(run, {
    kind: "replace",
    url,
    eventTypes,
    ...(description !== null && { description }),
    replaces,
    ownsKeys: ownerIn(record, replaces, all.length === 1, nowMs).ownsUnlabelledKey,
    ...beginning(all, nowMs),
  });
}

/**
 * Reconciles the first endpoint, deletes it and gives its keys an end. Since the second endpoint exists, the service sends it the same
 * events, so an event that reaches the first one after this pass is not lost with it. If the second one was deleted, the replacement begins
 * again. Throws `not_settled`; nothing is deleted then.
 */
async function deleteFirst(run: ReplaceRun, at: AtReconcile): Promise<Move<"drop" | "end">> {
  const { replaces: endpoint, endpoint: second } = at;
  const { api, signal, clock, logger, listingLagMs, overlapMs } = run;
  let reconciled: FirstReconciled | null = null;
  let there = await whatIsThere(run, at);
  if (there === "both") {
    logger.info(
      { endpoint, listingLagMs },
      "Waiting until the listing shows all that the first endpoint had.",
    );
    await clock.wait(listingLagMs, signal);
    reconciled = await reconcileFirst(endpoint, run);
    there = await whatIsThere(run, at);
    if (there === "both") await deleteIfThere(api, endpoint, signal);
  }
  const endMs = clock.now() + overlapMs;
  if (there === "no second") {
    logger.warn({ endpoint: second }, "The second endpoint is gone: the replacement begins again.");
    const owner = { endpoint: second, ownsUnlabelledKey: false };
    return { nextStep: undefined, keys: ({ keys }) => ({ keys: endKeys(keys, owner, endMs) }) };
  }
  run.reconciled = reconciled ?? run.reconciled;
  if (reconciled !== null) logger.info({ endpoint }, "The first endpoint is deleted.");
  else logger.warn({ endpoint }, alreadyDeleted);
  const nextStep: AtDrop = { ...at, step: "drop", oldKeysEndAt: new Date(endMs).toISOString() };
  return {
    nextStep,
    keys: ({ keys, rotatingUntil }) => ({
      keys: endKeys(keys, ownerOf(at), endMs),
      ...(rotatingUntil !== undefined && { rotatingUntil }),
    }),
  };
}

/** Waits until the keys of the first endpoint have ended: no attempt under way is signed with them. Makes the first pass of the second endpoint, and removes the ended keys. */
async function dropKeys(run: ReplaceRun, at: AtDrop): Promise<Move<"end", ReplacementEnd>> {
  const { api, reconcile, clock, signal, logger } = run;
  const { endpoint } = at;
  await waitUntil(clock, dateTimeMs(at.oldKeysEndAt), signal);
  const second = endpointIn(await listEndpoints(api, signal), endpoint);
  if (second !== undefined) {
    const nowMs = clock.now();
    const since = new Date(Math.min(nowMs, dateTimeMs(second.createdAt) || nowMs)); // the service's clock may be ahead
    try {
      await reconcile({ endpoint, includeComing: false, since, signal });
    } catch (error) {
      if (!hasCode(error, "reconcile_in_use")) throw error; // a worker's pass will do
    }
    signal.throwIfAborted();
    logger.info({ endpoint, since }, "The second endpoint is reconciled from its registration on.");
  }
  return {
    nextStep: undefined,
    keys: ({ keys }) => ({ keys: withoutEndedKeys(keys, clock.now()) }),
    whenWritten: () => ({ result: { replaced: at, reconciled: run.reconciled } }),
  };
}

const alreadyDeleted =
  "The first endpoint was deleted before this run could reconcile it, by a run that was killed or by another program. If it was another program, only support can replay what was not recovered, for 7 days.";

/** Looks up which of the two endpoints the service has. Throws `not_settled` if it has both and the second one is inactive. */
async function whatIsThere(
  { api, signal }: ReplaceRun,
  { replaces, endpoint }: AtReconcile,
): Promise<"both" | "no first" | "no second"> {
  const all = await listEndpoints(api, signal);
  const second = endpointIn(all, endpoint);
  if (second === undefined) return "no second";
  if (endpointIn(all, replaces) === undefined) return "no first";
  if (second.active) return "both";
  throw notSettled(
    replaces,
    `The endpoint ${endpoint} that is to replace ${replaces} is not active: the service sends it nothing`,
    "Ask support to activate it, or delete it: then another one is registered.",
  );
}

/** Deletes an endpoint, unless an earlier run or another program has deleted it. */
async function deleteIfThere(
  api: Pick<ApiClient, "webhooks">,
  endpoint: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await api.webhooks.delete(endpoint, { signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
  }
}

function unclear(problem: string, remedy: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>("endpoint_unknown", problem, remedy);
}
