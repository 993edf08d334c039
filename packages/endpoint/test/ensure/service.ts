import { type ApiClient, createClient, createLimiter } from "@esim-webhooks/client";
import type { KeyRecord, KeyStore } from "@esim-webhooks/core";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { onTestFinished } from "vitest";
import { shortPauses } from "../fast-clock.ts";

export const url = "https://shop.example/webhooks";

export interface Service {
  readonly sandbox: Sandbox;
  readonly api: ApiClient;
  /** All endpoints with their secrets of the moment, as the control side shows them. */
  endpoints(): Promise<ShownEndpoint[]>;
}

export interface ShownEndpoint {
  readonly webhookEndpointReference: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly signingSecret: string;
}

/** Starts the service for one test. */
export async function startService(options: SandboxOptions = { clock: "manual" }): Promise<Service> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return {
    sandbox,
    api: createClient({
      baseUrl: sandbox.url,
      ...sandbox.credentials,
      limiter: createLimiter({ calls: 1000 }), // a manual clock has no rate limit
      clock: shortPauses,
    }),
    async endpoints() {
      const answer = await fetch(`${sandbox.controlUrl}/endpoints`);
      return ((await answer.json()) as { data: ShownEndpoint[] }).data;
    },
  };
}

/** A key store in memory, of which a test can see and change the record. */
export interface MemoryKeys extends KeyStore {
  record: KeyRecord | undefined;
}

export function memoryKeys(record?: KeyRecord): MemoryKeys {
  let version = 0;
  let kept = record;
  return {
    get record() {
      return kept;
    },
    set record(changed) {
      kept = changed;
      version += 1;
    },
    load: async () => ({ keys: [], ...kept }),
    read: async () => (kept === undefined ? undefined : { record: kept, version: `v${version}` }),
    async write(next, read) {
      if (read !== (kept === undefined ? undefined : `v${version}`)) return false;
      kept = JSON.parse(JSON.stringify(next)) as KeyRecord;
      version += 1;
      return true;
    },
  };
}

/** The secrets of a record. */
export function secretsOf(record: KeyRecord | undefined): string[] {
  return (record?.keys ?? []).map((key) => (typeof key === "string" ? key : key.secret));
}
