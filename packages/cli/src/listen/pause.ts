import { setTimeout } from "node:timers/promises";

/** Resolves after `ms`, at once if that is negative, or as soon as one of the signals aborts. */
export async function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  await setTimeout(Math.max(0, ms), undefined, { signal: AbortSignal.any([...signals]) }).catch(() => {});
}
