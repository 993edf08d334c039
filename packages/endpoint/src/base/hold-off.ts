import type { KeyRecord } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";

/** Receivers take at most 15 minutes. */
const windowMs = 10 * 60_000;
/** How much of it a step needs, with all attempts of its call. */
const neededMs = 5 * 60_000;

/** Until when a step that begins now has receivers answer 503 to the signatures of a secret that is not stored yet. */
export function holdOffUntil(nowMs: number): string {
  return new Date(nowMs + windowMs).toISOString();
}

/** Whether receivers hold off such signatures for as long as a step needs. */
export function isHeldOff({ rotatingUntil }: KeyRecord, nowMs: number): boolean {
  return dateTimeMs(rotatingUntil) > nowMs + neededMs;
}
