import { type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { Webhook } from "standardwebhooks";

/** A request to the receiver. */
export interface Sent {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Deliveries that are sent together, and their expected outcomes. */
export interface Step {
  readonly what: string;
  readonly sent: readonly Sent[];
  /** The expected outcomes, in any order. */
  readonly outcomes: readonly string[];
  /** How often the handler should run. */
  readonly runs: number;
}

const sender = new Webhook(process.env["ESIM_WEBHOOK_SECRET"] ?? "");
const stranger = new Webhook("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
const minutesMs = 60_000;
const now = new Date(); // one for all, so that the same event has the same bytes again

// signed as the partner API does, by an independent library
function signed(id: string, type: string, data: unknown, { by = sender, at = now } = {}): Sent {
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": by.sign(id, at, body),
  };
  return { id, headers, body };
}

function sample(id: string, type: keyof EsimEvents, changes = {}): Sent {
  return signed(id, type, { ...sampleData(type), ...changes });
}

const first = esimCatalog.types.map(
  (type): Step => ({ what: type, sent: [sample(`msg_${type}`, type)], outcomes: ["processed"], runs: 1 }),
);
const tampered = sample("msg_tampered", "esim.balance.updated", { amount: 1 });
const flaky = sample("msg_flaky", "esim.faulted");
const faulted = sampleData("esim.faulted");
const durable = sample("msg_durable", "esim.faulted");

export const steps: readonly Step[] = [
  ...first,
  {
    what: "esim.assigned again, later",
    sent: [sample("msg_esim.assigned", "esim.assigned")],
    outcomes: ["duplicate"],
    runs: 0,
  },
  {
    what: "that id with another body",
    sent: [sample("msg_esim.assigned", "esim.assigned", { esimReference: "another" })],
    outcomes: ["conflict"],
    runs: 0,
  },
  {
    what: "five deliveries of one id at once",
    sent: Array.from({ length: 5 }, () => sample("msg_race", "esim.enabled")),
    outcomes: ["processed", "busy", "busy", "busy", "busy"],
    runs: 1,
  },
  {
    what: "a tampered body",
    sent: [{ ...tampered, body: tampered.body.replace('"amount":1', '"amount":9') }],
    outcomes: ["no_matching_key"],
    runs: 0,
  },
  {
    what: "a timestamp ten minutes old",
    sent: [signed("msg_stale", "esim.faulted", faulted, { at: new Date(now.getTime() - 10 * minutesMs) })],
    outcomes: ["timestamp_out_of_tolerance"],
    runs: 0,
  },
  {
    what: "signed with a wrong key",
    sent: [signed("msg_wrong_key", "esim.faulted", faulted, { by: stranger })],
    outcomes: ["no_matching_key"],
    runs: 0,
  },
  {
    what: "an event type that the catalog does not have",
    sent: [signed("msg_unknown", "esim.teleported", {})],
    outcomes: ["processed"],
    runs: 1,
  },
  {
    what: "esim.faulted with an unknown reason",
    sent: [sample("msg_reason", "esim.faulted", { reason: "sunspots" })],
    outcomes: ["processed"],
    runs: 1,
  },
  {
    what: "an invalid event, without esimReference",
    sent: [sample("msg_invalid", "esim.installed", { esimReference: undefined })],
    outcomes: ["invalid"],
    runs: 0,
  },
  { what: "esim.faulted whose handler fails", sent: [flaky], outcomes: ["failed"], runs: 1 },
  { what: "the sender's retry of that event", sent: [flaky], outcomes: ["processed"], runs: 1 },
];

/** Steps around the crash of a process that stores deliveries in an inbox on disk and has no worker. */
export const crash: Readonly<Record<"before" | "after", Step>> = {
  before: {
    what: "two of one id to an inbox, then kill -9",
    sent: [durable, durable],
    outcomes: ["stored", "already_stored"],
    runs: 0,
  },
  after: { what: "a worker that opens that inbox again", sent: [], outcomes: [], runs: 1 },
};
