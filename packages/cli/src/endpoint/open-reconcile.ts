import type { ApiClient } from "@esim-webhooks/client";
import { type ReconcileReport, reconcile } from "@esim-webhooks/endpoint";
import { openState } from "../set-up/open-state.ts";
import { hasInbox, openTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** Brings missed events into the target of the set-up. */
export interface OpenReconcile {
  /** Names the target in messages. */
  readonly where: string;
  run(since: Date, signal: AbortSignal): Promise<ReconcileReport>;
  close(): Promise<void>;
}

/** Opens the target of the set-up and the state beside it. Undefined if there is no target: nothing is created for it. */
export async function openReconcile(
  setUp: SetUp,
  api: ApiClient,
  endpoint: string,
): Promise<OpenReconcile | undefined> {
  if (setUp.handlers === undefined && !hasInbox(setUp)) return undefined;
  const target = await openTarget(setUp);
  const { state, close } = await openState(setUp).catch(async (error: unknown) => {
    await target.close();
    throw error;
  });
  const { source, catalog } = setUp;
  const options = { state, source, ...(catalog && { catalog }) };
  return {
    where: target.where,
    run: (since, signal) =>
      "inbox" in target
        ? reconcile<unknown>(api, endpoint, target.inbox, { ...options, since, signal })
        : reconcile<unknown>(api, endpoint, target.handlers, {
            ...options,
            store: target.store,
            since,
            signal,
          }),
    async close() {
      await close();
      await target.close();
    },
  };
}
