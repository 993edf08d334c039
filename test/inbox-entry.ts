import type { EsimEvents, InboxEntry } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

export interface EntryOptions {
  readonly type?: keyof EsimEvents;
  readonly timestamp?: string;
  readonly esim?: string;
  /** Fields in place of those of the sample data. */
  readonly data?: object;
  readonly receivedAt?: Date;
}

/** With it, every process makes the same body for an id. */
export const fixedTime: EntryOptions = { timestamp: "2026-11-20T10:00:00Z" };

/** An entry with sample data, as a receiver passes it to an inbox. */
export function entry(
  id: string,
  {
    type = "esim.enabled",
    receivedAt = new Date(),
    timestamp = receivedAt.toISOString(),
    esim = `esim ${id}`,
    data: changes,
  }: EntryOptions = {},
): InboxEntry {
  const data = { ...sampleData(type), esimReference: esim, ...changes };
  const body = Buffer.from(JSON.stringify({ type, timestamp, data }));
  return { ...key(id), type, event: { id, type, timestamp, data }, body, receivedAt };
}

export function key(id: string): { source: string; id: string } {
  return { source: "default", id };
}
