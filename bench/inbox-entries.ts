import { randomUUID } from "node:crypto";
import type { InboxEntry } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

const type = "esim.enabled";

/** Ids that go to random places of an index, or to its end because they begin with the time. */
export const newId = {
  random: (): string => `msg_${randomUUID()}`,
  ordered: (): string => `msg_${process.hrtime.bigint()}`,
};

/** `count` entries of `esims` different eSIMs, one millisecond apart. */
export function entriesOf(count: number, esims: number, idOf: () => string = newId.random): InboxEntry[] {
  const begin = Date.UTC(2026, 0, 1);
  return Array.from({ length: count }, (_, n) => {
    const timestamp = new Date(begin + n).toISOString();
    const data = { ...sampleData(type), esimReference: `esim_${n % esims}` };
    const id = idOf();
    return {
      source: "default",
      id,
      type,
      event: { id, type, timestamp, data },
      body: Buffer.from(JSON.stringify({ type, timestamp, data })),
      receivedAt: new Date(),
    };
  });
}

/** Splits items into lists of `size`. */
export function batchesOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}
