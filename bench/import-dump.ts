import { randomUUID } from "node:crypto";
import { type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

/** Records of the deliveries listing as lines of JSON, newest first, of all types alternating. */
export function deliveriesOf(count: number): string[] {
  const types = esimCatalog.types as readonly (keyof EsimEvents)[];
  const newest = Date.UTC(2026, 0, 31);
  return Array.from({ length: count }, (_, n) => {
    const type = types[n % types.length] ?? "esim.enabled";
    const timestamp = new Date(newest - n * 10).toISOString();
    const data = { ...sampleData(type), esimReference: `esim_${n % 4000}` };
    return JSON.stringify({
      eventType: type,
      eventId: `msg_${randomUUID()}`,
      payload: { type, timestamp, data },
      responseBody: "upstream connect error or disconnect before headers",
      status: n % 3 === 0 ? "exhausted" : "failed",
      attemptNumber: 1 + (n % 8),
      httpStatus: 503,
      nextRetryAt: null,
      sentAt: timestamp,
      deliveredAt: null,
    });
  });
}

const chunkBytes = 64 * 1024; // the chunks of a file stream

export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}
