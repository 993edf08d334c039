import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Inbox, InboxEntry } from "@esim-webhooks/core";
import { memoryInbox, sampleData } from "@esim-webhooks/core/testing";
import { onTestFinished } from "vitest";

export interface DeliveryOptions {
  readonly type?: string;
  readonly timestamp?: string;
  readonly esim?: string;
  readonly status?: string;
}

/** A record of the deliveries listing. */
export function delivery(
  id: string,
  {
    type = "esim.enabled",
    timestamp = "2026-11-20T09:30:00.000Z",
    esim = "730155284096617302",
    status = "exhausted",
  }: DeliveryOptions = {},
): Record<string, unknown> {
  return {
    eventType: type,
    eventId: id,
    payload: { type, timestamp, data: { ...sampleData("esim.enabled"), esimReference: esim } },
    responseBody: null,
    status,
    attemptNumber: 10,
    httpStatus: 503,
    nextRetryAt: null,
    sentAt: "2026-11-20T10:00:00.000Z",
    deliveredAt: null,
  };
}

/** Lines of JSON; text is left as it is. */
export function ndjson(...records: readonly unknown[]): AsyncIterable<Uint8Array> {
  return bytes(records.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join(""));
}

export async function* bytes(text: string | Uint8Array, chunkBytes = 1000): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text as string);
  for (let at = 0; at < all.byteLength; at += chunkBytes) yield all.subarray(at, at + chunkBytes);
}

/** An inbox that records what was put into it. */
export function watchedInbox(): Inbox & {
  readonly entries: Map<string, InboxEntry>;
  readonly puts: InboxEntry[];
} {
  const entries = new Map<string, InboxEntry>();
  const puts: InboxEntry[] = [];
  const inbox = memoryInbox();
  return {
    ...inbox,
    entries,
    puts,
    put(batch) {
      puts.push(...batch);
      for (const entry of batch) if (!entries.has(entry.id)) entries.set(entry.id, entry);
      return inbox.put(batch);
    },
  };
}

/** A folder that is removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "import-test-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** Fails when a ledger does not balance, in total or by type. */
export function sumOf({
  stored,
  duplicate,
  conflict,
  invalid,
  filtered,
  rejected,
}: Record<string, number>): number {
  return [stored, duplicate, conflict, invalid, filtered, rejected].reduce<number>(
    (sum, one) => sum + (one ?? 0),
    0,
  );
}

export async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}
