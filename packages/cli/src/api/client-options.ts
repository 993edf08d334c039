import type { ClientOptions } from "@esim-webhooks/client";
import { variableIn } from "@esim-webhooks/core/internal";
import type { CliProcess } from "../program/context.ts";
import type { SetUp } from "../set-up/set-up.ts";

const variables = {
  baseUrl: "ESIM_API_URL",
  clientId: "ESIM_CLIENT_ID",
  clientSecret: "ESIM_CLIENT_SECRET",
} as const;

/** The names of the variables of the client's options, in production or test. */
export function clientVariables({ environment }: Pick<SetUp, "environment">): typeof variables {
  const named = Object.entries(variables).map(([option, name]) => [option, variableIn(environment, name)]);
  return Object.fromEntries(named);
}

/** The client's options in variables and the config. Variables take precedence. */
export function clientOptions(setUp: SetUp, { env }: CliProcess): ClientOptions {
  const { environment, config } = setUp;
  const { api = {} } = config;
  const names = clientVariables(setUp);
  const given = (name: keyof typeof variables) => env[names[name]]?.trim() || api[name];
  return {
    ...api,
    environment,
    baseUrl: given("baseUrl"),
    clientId: given("clientId"),
    clientSecret: given("clientSecret"),
  };
}

/** Whether any option for calls is set, although others may be missing. */
export function hasCredentials({ baseUrl, clientId, clientSecret, exchange }: ClientOptions): boolean {
  return [baseUrl, clientId, clientSecret, exchange].some((each) => each !== undefined);
}
