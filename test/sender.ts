import { setTimeout as pause } from "node:timers/promises";
import type { SignedRequest } from "@esim-webhooks/core/testing";
import { signedDelivery } from "./support/signed-delivery.ts";

/** The result of one event, as the sender sees it. */
export interface Sent {
  readonly id: string;
  /** The status of each attempt; 0 for a connection error. */
  readonly statuses: readonly number[];
  /** Acknowledged by a 2xx; thrown away by another status that is not tried again; or out of attempts. */
  readonly end: "delivered" | "lost" | "exhausted";
}

/** Seconds before each attempt, as the spec has them (6.5). */
export const scheduleSeconds: readonly number[] = [0, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800];

export interface SenderOptions {
  /** The secret that signs an attempt, asked again for each: from a rotation on, every attempt has the new one. */
  readonly secret: () => string;
  /** Where to send an attempt. */
  readonly url: () => string;
  /** How many seconds of the schedule pass in one real second. */
  readonly speed: number;
  /** Lets an attempt begin. Default: immediately. */
  readonly gate?: (attempt: () => Promise<number>) => Promise<number>;
}

/** Plays the partner API: tries again on 5xx, 408 and connection errors, and on nothing else. */
export async function sendAsThePartnerApi(id: string, options: SenderOptions): Promise<Sent> {
  const { gate = (send) => send() } = options;
  const statuses: number[] = [];
  for (const seconds of scheduleSeconds) {
    await pause((seconds * 1000) / options.speed);
    const status = await gate(() => attempt(options.url(), signed(id, options.secret())));
    statuses.push(status);
    if (status >= 200 && status < 300) return { id, statuses, end: "delivered" };
    if (status !== 0 && status !== 408 && status < 500) return { id, statuses, end: "lost" };
  }
  return { id, statuses, end: "exhausted" };
}

export function signed(id: string, secret: string): SignedRequest {
  return signedDelivery(secret, { id, type: "esim.enabled" });
}

async function attempt(url: string, request: SignedRequest): Promise<number> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(30_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
