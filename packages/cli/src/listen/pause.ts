import { setTimeout } from "node:timers/promises";

/** Resolves after `ms`, or as soon as one of the signals aborts. */
export async function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  await setTimeout(ms, undefined, { signal: AbortSignal.any([...signals]) }).catch(() => {});
}
