import type { WebhookDelivery } from "@esim-webhooks/client";
import { memoryStore } from "@esim-webhooks/core";
import {
  type ReconcileMessage,
  type ReconcileOptions,
  type ReconcileReport,
  reconcile,
} from "@esim-webhooks/endpoint";
import { expect } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { made, servedListing } from "../served-listing.ts";
import { memoryState } from "./memory-state.ts";
import { onePass } from "./one-pass.ts";

const hour = 3_600_000;
/** Passes begin six hours after this. */
export const startMs: number = Date.parse("2026-11-20T00:00:00Z");

/** Handlers whose store says it is durable, behind a listing. */
export function handled(deliveries: readonly WebhookDelivery[], handler: (id: string) => unknown) {
  const { api, endpoint } = servedListing(() => deliveries);
  const memory = memoryStore();
  const store = { ...memory, capabilities: { ...memory.capabilities, durable: true } };
  const state = memoryState();
  let nowMs = startMs + 6 * hour;
  const errors: string[] = [];
  const logger = loggerWith({ error: (_, message) => void errors.push(message) });
  const options = { state, store, logger, clock: { now: () => nowMs } };
  const handlers = { "*": async ({ id }: { readonly id: string }) => void (await handler(id)) };
  let since: { readonly since?: Date } = { since: new Date(startMs) };
  return {
    errors,
    state,
    store,
    /** A pass so long after the one before, by our clock. */
    async pass(afterMs = 0, request: Partial<ReconcileOptions> = since): Promise<ReconcileReport> {
      nowMs += afterMs;
      since = {};
      const report = await reconcile(api, endpoint, handlers, { ...options, ...request });
      const { listed, ...rest } = report.ledger;
      expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBe(listed);
      return report;
    },
    /** A pass of a reconciler, so long after the one before. */
    async reconcilerPass(afterMs = 0): Promise<ReconcileMessage> {
      nowMs += afterMs;
      const { since: first = new Date(startMs) } = since;
      const message = await onePass(api, endpoint, handlers, { ...options, since: first });
      expect(message.outcome).toBe("complete");
      return message;
    },
  };
}

/** A delivery that the service has given up. */
export const exhausted = (id: string, occurredMs: number) => made({ id, occurredMs, status: "exhausted" });
