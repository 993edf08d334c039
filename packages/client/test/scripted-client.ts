import { type ApiClient, type ClientOptions, createClient } from "@esim-webhooks/client";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { type ScriptService, type Step, scriptService } from "./script-service.ts";

export const credentials = {
  baseUrl: "https://api.test/api/v3",
  clientId: "123456",
  clientSecret: "s3cr3t-of-ours",
};

export interface ScriptedClient {
  readonly clock: FakeClock;
  readonly service: ScriptService;
  readonly api: ApiClient;
}

/** A client of a service that plays a script, both on a fake clock. */
export function scriptedClient(script: readonly Step[] = [], options: ClientOptions = {}): ScriptedClient {
  const clock = fakeClock();
  const service = scriptService(script, clock.now);
  return { clock, service, api: createClient({ ...credentials, fetch: service.fetch, clock, ...options }) };
}
