import type { KeyRecord } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";

/** Receivers take at most 15 minutes. */
const windowMs = 10 * 60_000;

/** A call, with all its attempts, is over within this time, in ms. */
export const callMs: number = 2 * 60_000;
/** How long a secret that has come may be tried to be stored, in ms. */
export const storeSecretMs: number = 4 * 60_000;
/** How much of the hold-off a step needs: the secret is stored a minute before it ends. */
const neededMs = callMs + storeSecretMs + 60_000;

/** How long an attempt may be under way. */
const arrivalMs = 60_000;

/** Until when receivers that read the new key late hold off what it has signed. */
export function arrivalUntil(nowMs: number): string {
  return new Date(nowMs + arrivalMs).toISOString();
}

/** Until when a step that begins now has receivers answer 503 to the signatures of a secret that is not stored yet. */
export function holdOffUntil(nowMs: number): string {
  return new Date(nowMs + windowMs).toISOString();
}

/** Whether receivers hold off such signatures for as long as a step needs. */
export function isHeldOff({ rotatingUntil }: KeyRecord, nowMs: number): boolean {
  return dateTimeMs(rotatingUntil) > nowMs + neededMs;
}
