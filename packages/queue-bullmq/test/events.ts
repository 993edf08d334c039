import { randomUUID } from "node:crypto";
import type { EsimEvents, InboxEntry } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

/** The entry of an event of the sample data, as a receiver makes it. */
export function entryOf(
  id: string = randomUUID(),
  {
    type = "esim.enabled" as keyof EsimEvents,
    ...changes
  }: Partial<InboxEntry> & { type?: keyof EsimEvents } = {},
): InboxEntry {
  const timestamp = new Date().toISOString();
  const data = sampleData(type);
  const event = { id, type, timestamp, data };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { source: "default", id, type, event, body, receivedAt: new Date(), ...changes };
}
