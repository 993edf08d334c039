import type { EsimEvents, InboxEntry } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

export interface EntryOptions {
  readonly type?: keyof EsimEvents;
  readonly timestamp?: string;
  readonly esim?: string;
}

/** An entry as a receiver passes it to an inbox. */
export function entry(
  id: string,
  { type = "esim.enabled", timestamp = new Date().toISOString(), esim = `esim ${id}` }: EntryOptions = {},
): InboxEntry {
  const data = { ...sampleData(type), esimReference: esim };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { ...key(id), type, event: { id, type, timestamp, data }, body, receivedAt: new Date() };
}

export function key(id: string): { source: string; id: string } {
  return { source: "default", id };
}
