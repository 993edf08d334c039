import { setTimeout as pause } from "node:timers/promises";
import { createClient, createLimiter } from "@esim-webhooks/client";
import type { KeyStore } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { type ReconcileReport, type RotationReport, reconcile, rotateSecret } from "@esim-webhooks/endpoint";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";

/** The input of a process that rotates. Plain JSON. */
export interface RotatorPlace {
  readonly api: { readonly baseUrl: string; readonly clientId: string; readonly clientSecret: string };
  readonly endpoint: string;
  readonly keyFile: string;
  readonly database: string;
}

export interface Rotator {
  rotate(): Promise<RotationReport<ReconcileReport>>;
  /** `since` is for the first pass. */
  reconcile(since?: Date): Promise<ReconcileReport>;
  close(): Promise<void>;
}

/** How many moments a rotation has at which it can be killed: before and after each write and call. */
export const moments = 12;
/** The moment after the call: no one has the new secret. */
export const afterCall = 6;

/**
 * Rotates the secret of an endpoint, and reconciles into its inbox. Its waits are shorter by the factor `speed`; at the moment `killAt`, the
 * process is killed.
 */
export function openRotator(
  { api: credentials, endpoint, keyFile, database }: RotatorPlace,
  { speed = 600, killAt = 0 }: { readonly speed?: number; readonly killAt?: number } = {},
): Rotator {
  const api = createClient({ ...credentials, limiter: createLimiter({ calls: 1000 }) });
  const keys = fileKeySource(keyFile);
  const inbox = sqliteInbox({ path: database, timeoutMs: 60_000 });
  const state = sqliteState({ path: database, timeoutMs: 60_000 });
  let passed = 0;

  /** Runs `work` between two moments. */
  async function between<T>(work: () => Promise<T>): Promise<T> {
    moment();
    const result = await work();
    moment();
    return result;
  }
  function moment(): void {
    passed += 1;
    if (passed === killAt) process.kill(process.pid, "SIGKILL");
  }

  const watched: KeyStore = {
    load: () => keys.load(),
    read: () => keys.read(),
    write: (record, version) => between(() => keys.write(record, version)),
  };
  const webhooks: typeof api.webhooks = {
    ...api.webhooks,
    rotateSecret: (reference, options) => between(() => api.webhooks.rotateSecret(reference, options)),
  };
  const pass = (since?: Date) =>
    untilFree(() => reconcile(api, endpoint, inbox, { state, since, leaseMs: 1000, newSource: true }));
  return {
    rotate: () =>
      rotateSecret({ webhooks }, endpoint, watched, {
        clock: quickClock(speed),
        overlapMs: 60_000,
        state,
        reconcile: () => between(() => pass()),
      }),
    reconcile: pass,
    async close() {
      await Promise.all([inbox.close(), state.close()]);
    },
  };
}

/** At 600, a minute of waiting is a tenth of a second, so that the old key ends before the next rotation. */
function quickClock(speed: number) {
  let skippedMs = 0;
  return {
    now: () => Date.now() + skippedMs,
    async wait(ms: number) {
      await pause(ms / speed);
      skippedMs += ms - ms / speed;
    },
  };
}

/** A killed process holds up the next one until its lease ends. Rejects if it has not within 30 s. */
async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  for (const giveUpAt = performance.now() + 30_000; ; ) {
    try {
      return await work();
    } catch (error) {
      const isInUse = (error as { code?: unknown }).code === "reconcile_in_use";
      if (!isInUse || performance.now() > giveUpAt) throw error;
      await pause(100);
    }
  }
}
