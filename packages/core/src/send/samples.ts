import { WebhookError } from "../base/errors.ts";
import { suggest } from "../base/options.ts";
import type { EsimEvents } from "../event/esim-events.ts";

/** Samples have every field that the catalog knows, so that a test can remove any of them. */
type Samples = { readonly [Type in keyof EsimEvents]: Required<EsimEvents[Type]> };

const esim = {
  profileReference: "4812009377150264",
  esimReference: "730155284096617302",
  iccid: "8932042000010012344",
};
const device = { ...esim, eid: "89049032007008882600036437012345" };

const samples: Samples = {
  "esim.assigned": esim,
  "esim.downloaded": device,
  "esim.installed": device,
  "esim.enabled": device,
  "esim.disabled": device,
  "esim.deleted": device,
  "esim.faulted": { ...device, reason: "download_order_expired", detail: "8.1.1/3.8: order refused" },
  "esim.mccswitch": {
    ...esim,
    previousCountry: "BE",
    previousMcc: "206",
    previousMnc: "01",
    newCountry: "NL",
    newMcc: "204",
    newMnc: "08",
  },
  "esim.lifecycle.suspended": { ...esim, lifecycleStatus: "suspended", previousLifecycleStatus: "active" },
  "esim.lifecycle.activated": { ...esim, lifecycleStatus: "active", previousLifecycleStatus: "suspended" },
  "esim.lifecycle.terminated": { ...esim, lifecycleStatus: "terminated", previousLifecycleStatus: "active" },
  "esim.balance.updated": {
    ...esim,
    updateType: "credit",
    source: "client",
    reason: "top_up",
    detail: "top-up of order 20488",
    amount: 1500,
    balanceAfter: 4200,
    currency: "EUR",
    clientTransactionId: "order-20488",
    providerTransactionId: "7719302846",
    occurredAt: "2026-11-20T09:30:00.000Z",
  },
  "package.ended": { reason: "removed", packageReference: "PKG7Q2M4ZD" },
};

/** Returns realistic sample data for an event type of the eSIM catalog. Throws `invalid_input` for any other type. */
export function sampleData<Type extends keyof EsimEvents>(type: Type): EsimEvents[Type] {
  if (Object.hasOwn(samples, type)) return structuredClone(samples[type]);
  throw new WebhookError(
    "invalid_input",
    `There is no sample for the event type "${type}".`,
    suggest(type, Object.keys(samples)),
  );
}
