import type { ClientOptions } from "@esim-webhooks/client";
import type { CliProcess } from "../program/context.ts";
import type { SetUp } from "../set-up/set-up.ts";

export const variables = {
  baseUrl: "ESIM_API_URL",
  clientId: "ESIM_CLIENT_ID",
  clientSecret: "ESIM_CLIENT_SECRET",
} as const;

/** The options that the environment and the config have for the client. The environment takes precedence. */
export function clientOptions({ config: { api = {} } }: SetUp, { env }: CliProcess): ClientOptions {
  const given = (name: keyof typeof variables) => env[variables[name]]?.trim() || api[name];
  return {
    ...api,
    baseUrl: given("baseUrl"),
    clientId: given("clientId"),
    clientSecret: given("clientSecret"),
  };
}

/** Whether there is anything to call the API with. */
export function hasCredentials({ baseUrl, clientId, clientSecret, exchange }: ClientOptions): boolean {
  return [baseUrl, clientId, clientSecret, exchange].some((each) => each !== undefined);
}
