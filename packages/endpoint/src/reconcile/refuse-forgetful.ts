import { type DedupeStore, type StateStore, WebhookError } from "@esim-webhooks/core";
import { isInbox } from "@esim-webhooks/core/engine";
import { durableStores, shortestSafeRetentionMs } from "@esim-webhooks/core/internal";
import type { EndpointErrorCode } from "../base/errors.ts";

/** A target or store that says how durable it is, and how long it remembers done ids. */
interface Keeper {
  readonly capabilities?: { readonly durable: boolean; readonly retentionMs?: number };
  ready?(): Promise<void>;
}

/**
 * Rejects with `durable_store_required` if the inbox, the store of the handlers or the state store forgets when a process ends or a machine
 * crashes: recovered events would be lost again behind the watermark, or done twice. Rejects with `invalid_option` if the target forgets done
 * ids while the listing may still show their events: a pass would take those events for missing.
 */
export async function refuseForgetful(
  target: unknown,
  store: DedupeStore | undefined,
  state: StateStore,
): Promise<void> {
  await refuse(
    state,
    "The state store",
    "state",
    `Pass fileState(folder), or a state store on ${durableStores}.`,
  );
  if (isInbox(target)) {
    const keeper = target as Keeper;
    await refuse(keeper, "The inbox", "target", `Pass an inbox on ${durableStores}.`);
    refuseShortRetention(keeper, "The inbox");
  } else {
    const keeper: Keeper = (target as { readonly store?: DedupeStore }).store ?? store ?? {};
    await refuse(keeper, "The store of the handlers", "store", `Pass { store }, on ${durableStores}.`);
    refuseShortRetention(keeper, "The store of the handlers");
  }
}

async function refuse(keeper: Keeper, what: string, option: string, remedy: string): Promise<void> {
  await keeper.ready?.(); // some ask their server first
  if (keeper.capabilities?.durable === true) return;
  throw new WebhookError<EndpointErrorCode>(
    "durable_store_required",
    `${what} is not durable, or does not say so: events that reconcile recovers could be lost, or done twice.`,
    remedy,
    { option },
  );
}

function refuseShortRetention({ capabilities }: Keeper, what: string): void {
  const { retentionMs = Number.POSITIVE_INFINITY } = capabilities ?? {};
  if (retentionMs >= shortestSafeRetentionMs) return;
  throw new WebhookError(
    "invalid_option",
    `${what} forgets done ids after ${Math.floor(retentionMs / 1000)} s, but the service lists events for 7 days: reconcile would run done events again.`,
    "Set its retentionMs to 8 days or more (default 30 days). For a queue that remembers no ids, such as sqsInbox, pass the handlers and the store of its worker instead.",
  );
}
