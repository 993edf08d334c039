import { type DedupeStore, type StateStore, WebhookError } from "@esim-webhooks/core";
import { isInbox } from "@esim-webhooks/core/kit";
import type { EndpointErrorCode } from "../base/errors.ts";

/** What can say how durable it is. */
interface Keeper {
  readonly capabilities?: { readonly durable: boolean };
  ready?(): Promise<void>;
}

/**
 * Rejects with `durable_store_required` if the target or the store of the state forgets when a process ends or a machine crashes: what
 * was brought in would be lost once more behind the watermark, or done once more.
 */
export async function refuseForgetful(
  target: unknown,
  store: DedupeStore | undefined,
  state: StateStore,
): Promise<void> {
  await refuse(
    state,
    "The state store",
    "Pass fileState(folder), sqliteState(…), postgresState(…) or redisState(…).",
  );
  if (isInbox(target)) {
    await refuse(target as Keeper, "The inbox", "Pass sqliteInbox(…) or postgresInbox(…).");
  } else {
    const keeper: Keeper = (target as { readonly store?: DedupeStore }).store ?? store ?? {};
    await refuse(
      keeper,
      "The store of the handlers",
      "Pass { store }: sqliteStore(…), postgresStore(…) or redisStore(…).",
    );
  }
}

async function refuse(keeper: Keeper, what: string, remedy: string): Promise<void> {
  await keeper.ready?.(); // some ask their server first
  if (keeper.capabilities?.durable === true) return;
  throw new WebhookError<EndpointErrorCode>(
    "durable_store_required",
    `${what} is not durable, or does not say so: what reconcile brings in could be lost, or done twice.`,
    remedy,
  );
}
