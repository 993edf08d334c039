import { setTimeout as pause } from "node:timers/promises";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { answerTo } from "../../test/deliver.ts";

/** An event that the service sends. */
export interface SentEvent {
  readonly id: string;
  readonly type: "esim.enabled" | "esim.disabled" | "esim.installed" | "esim.deleted";
}

/** The service: it signs by the right clock, and sends a delivery again until it is acknowledged. */
export interface Sender {
  /** The statuses that were answered, and how often. 0 is a connection error. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly acknowledged: ReadonlySet<string>;
  /** Sends these events to any of the receivers. Resolves when all are acknowledged. */
  send(events: readonly SentEvent[]): Promise<void>;
  /** Stops sending. */
  stop(): void;
}

const againMs = 250;

/** @param now the right time, in ms since 1970 */
export function createSender(urls: readonly string[], secret: string, now: () => number): Sender {
  const statuses = new Map<number, number>();
  const acknowledged = new Set<string>();
  const timestamps = new Map<string, string>();
  let attempts = 0;
  let isStopped = false;

  async function sendOne({ id, type }: SentEvent): Promise<void> {
    const timestamp = timestamps.get(id) ?? new Date(now()).toISOString();
    timestamps.set(id, timestamp);
    while (!isStopped) {
      const request = signedRequest(
        { id, type, timestamp, data: sampleData(type) },
        { secret, at: new Date(now()) },
      );
      const { status } = await answerTo(urls[attempts++ % urls.length] ?? "", request);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 200 && status < 300) return void acknowledged.add(id);
      await pause(againMs);
    }
  }

  return {
    statuses,
    acknowledged,
    send: async (events) => void (await Promise.all(events.map(sendOne))),
    stop() {
      isStopped = true;
    },
  };
}
