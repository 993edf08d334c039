import { type Time, timeMs } from "../base/clock.ts";
import type { Service } from "../base/service.ts";
import { type DeliveryRow, deliveryRecord, retentionMs } from "./deliveries.ts";
import { endpointSequence } from "./endpoints.ts";

/** Selects the deliveries for a dump by support. Without a choice: all of the last 7 days. */
export interface Dump {
  /** Only deliveries that were created at this time or later. Default: 7 days ago. */
  readonly since?: Time | undefined;
  /** Only deliveries that were created at this time or earlier. Default: now. */
  readonly until?: Time | undefined;
  /** Only the deliveries to this endpoint. Default: to every endpoint of the client. */
  readonly webhookEndpointReference?: string | undefined;
}

const batch = 500;

/**
 * The deliveries of a client as NDJSON, oldest first: a record of the listing in each line. Memory does not grow with the dump,
 * and what happens while it is read may or may not be in it. Throws `not_found` for an endpoint that the client does not have.
 */
export function dump(
  service: Service,
  clientReference: string,
  choice: Dump = {},
): AsyncGenerator<Uint8Array> {
  const { webhookEndpointReference } = choice;
  if (webhookEndpointReference !== undefined)
    endpointSequence(service, clientReference, webhookEndpointReference); // throws
  return linesOf(service, clientReference, choice);
}

async function* linesOf(service: Service, clientReference: string, choice: Dump): AsyncGenerator<Uint8Array> {
  const { db, clock } = service;
  const kept = clock.now() - retentionMs;
  const since = Math.max(timeMs(choice.since ?? kept), kept);
  const until = timeMs(choice.until ?? clock.now());
  const reference = choice.webhookEndpointReference ?? null;
  for (let last = 0; ; ) {
    const rows = db.all<DeliveryRow>(
      `select deliveries.*, eventType, coalesce(faultedBody, body) as body
       from deliveries join events on events.sequence = eventSequence join endpoints on endpoints.sequence = endpointSequence
       where deliveries.sequence > ? and endpoints.clientReference = ? and deliveries.createdAt between ? and ?
         and (? is null or webhookEndpointReference = ?)
       order by deliveries.sequence limit ?`,
      last,
      clientReference,
      since,
      until,
      reference,
      reference,
      batch,
    );
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.sequence;
    yield Buffer.from(rows.map((row) => `${JSON.stringify(deliveryRecord(row))}\n`).join(""));
  }
}
