// A process for tests: reconciles a listing of DELIVERIES deliveries, which are made when they are read. Says the report.
import type { WebhookDelivery } from "@esim-webhooks/client";
import type { InboxWriter } from "@esim-webhooks/core";
import { reconcile } from "@esim-webhooks/endpoint";
import { made, servedListing } from "../served-listing.ts";
import { memoryState } from "./memory-state.ts";

const length = Number(process.env["DELIVERIES"]);
const startMs = Date.parse("2026-11-20T00:00:00Z");
const clock = { now: () => startMs + length * 1000 };
const deliveryAt = (index: number) =>
  made({ id: `event-${index}`, occurredMs: startMs + (length - index) * 1000 });
const deliveries = new Proxy({ length } as ArrayLike<WebhookDelivery>, {
  get: (target, name) => (name === "length" ? target.length : deliveryAt(Number(name))),
});
const { api, endpoint } = servedListing(() => deliveries);
const inbox: Pick<InboxWriter, "put" | "capabilities"> = {
  capabilities: { durable: true } as InboxWriter["capabilities"],
  put: async (entries) => entries.map(() => "stored" as const),
};
const report = await reconcile(api, endpoint, inbox, {
  state: memoryState(),
  since: new Date(startMs),
  clock,
});
console.log(`report ${JSON.stringify(report)}`);
