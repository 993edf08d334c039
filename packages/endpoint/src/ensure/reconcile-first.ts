import { type ApiClient, ApiError } from "@esim-webhooks/client";
import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import { endKeys } from "../base/endpoint-keys.ts";
import type { EndpointErrorCode } from "../base/errors.ts";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";
import { writeStep } from "../base/write-step.ts";
import { reconcileInTurn } from "../reconcile/reconcile-in-turn.ts";
import type { FirstReconciled, ReplaceSettings } from "./replace-options.ts";
import { type AtDrop, type AtReconcile, ownerOf } from "./replacement.ts";

/**
 * Brings in all that the first endpoint has, deletes it and gives its keys an end. What the service sends since the second endpoint
 * is there comes to that one, too: so whatever the first one gets after this pass is not lost with it. If the second one was deleted
 * meanwhile, the replacement is over, and begins anew.
 *
 * Resolves to what `reconcile` resolved to; null if one of them is gone. Throws `not_settled`; nothing is deleted then.
 */
export async function reconcileFirst<Reconciled extends FirstReconciled>(
  api: Pick<ApiClient, "webhooks">,
  at: AtReconcile,
  settings: ReplaceSettings<Reconciled>,
): Promise<Reconciled | null> {
  const { replaces: endpoint, endpoint: second } = at;
  const { keyStore, signal, clock, logger, listingLagMs, overlapMs } = settings;
  let reconciled: Reconciled | null = null;
  let there = await whatIsThere(api, at, signal);
  if (there === "both") {
    logger.info(
      { endpoint, listingLagMs },
      "Waiting until the listing shows all that the first endpoint had.",
    );
    await clock.wait(listingLagMs, signal);
    reconciled = await bringIn(endpoint, settings);
    there = await whatIsThere(api, at, signal);
    if (there === "both") await deleted(api, endpoint, signal);
  }
  const endMs = clock.now() + overlapMs;
  if (there === "no second") {
    logger.warn({ endpoint: second }, "The second endpoint is gone: the replacement begins anew.");
    const owner = { endpoint: second, isOnly: false };
    await writeStep(keyStore, at, ({ keys }) => ({ keys: endKeys(keys, owner, endMs) }), clock);
    return null;
  }
  if (reconciled !== null) logger.info({ endpoint }, "The first endpoint is deleted.");
  else logger.warn({ endpoint }, alreadyDeleted);
  const change: AtDrop = { ...at, step: "drop", oldKeysEndAt: new Date(endMs).toISOString() };
  const ended = ({ keys }: KeyRecord) => ({ keys: endKeys(keys, ownerOf(at), endMs), change });
  await writeStep(keyStore, at, (record) => ({ ...record, ...ended(record) }), clock);
  return reconciled;
}

const alreadyDeleted =
  "The first endpoint was deleted before this run could reconcile it, by a run that was killed or by somebody else. If it was somebody else, only support can replay what was not brought in, for 7 days.";

/** Which of the two endpoints the service has. Throws `not_settled` if the second one gets nothing while the first is there. */
async function whatIsThere(
  api: Pick<ApiClient, "webhooks">,
  { replaces, endpoint }: AtReconcile,
  signal: AbortSignal,
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

/** Reconciles the first endpoint, in turn with a worker. Throws `not_settled` if not all that it has is in. */
export async function bringIn<Reconciled extends FirstReconciled>(
  endpoint: string,
  settings: ReplaceSettings<Reconciled>,
): Promise<Reconciled> {
  const { reconcile, signal, acceptLoss } = settings;
  const pass = { endpoint, includeComing: true, signal };
  const reconciled = await reconcileInTurn(() => reconcile(pass), settings);
  signal.throwIfAborted();
  const { interrupted, dryRun, ledger } = reconciled;
  if (interrupted || dryRun || ledger.unsettled > 0) {
    throw notSettled(
      endpoint,
      `Not all that the endpoint ${endpoint} has was reconciled`,
      "Let reconcile come to its end, without dryRun.",
    );
  }
  const loss = lossWith(endpoint, reconciled);
  if (loss === undefined || acceptLoss) return reconciled;
  throw notSettled(
    endpoint,
    loss,
    "Mend what the log says of them. With since, events whose handlers failed are tried at once. With acceptLoss, the endpoint is deleted all the same.",
  );
}

/** What would be lost with the endpoint; undefined: nothing. */
function lossWith(endpoint: string, { failing, ledger, lost }: FirstReconciled): string | undefined {
  const unhandled = Math.max(failing, ledger.rejected); // one counts events that this pass has not read, the other events in use
  if (unhandled > 0) return `The handlers of ${unhandled} events of the endpoint ${endpoint} failed`;
  const notTaken = ledger.invalid + ledger.conflict;
  if (notTaken > 0) {
    return `The target did not take ${notTaken} of the deliveries of the endpoint ${endpoint}: they are not valid events, or their ids are those of other events`;
  }
  if (lost === null) return undefined;
  return `The listing of the endpoint ${endpoint} has forgotten events from ${lost.from} to ${lost.to} that were not brought in`;
}

function notSettled(endpoint: string, problem: string, remedy: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "not_settled",
    `${problem}, so ${endpoint} was not deleted.`,
    `${remedy} Run this again: it continues.`,
  );
}

/** An endpoint that is gone was deleted by a run before this one, or by somebody else. */
async function deleted(
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
