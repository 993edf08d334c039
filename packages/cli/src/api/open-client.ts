import { type ApiClient, type ClientOptions, createClient } from "@esim-webhooks/client";
import type { ApiEnvironment, WebhookError } from "@esim-webhooks/core";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import { explainedCall } from "../program/call-error.ts";
import type { CliContext, CliProcess } from "../program/context.ts";
import { at } from "../program/naming.ts";
import { programError } from "../program/program-error.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { clientOptions, clientVariables } from "./client-options.ts";
import { maskedText } from "./shown-record.ts";

/** As `withApi`, for commands that change something: first prints the API's URL and environment. */
export async function withApiToWrite(
  context: CliContext,
  flags: SetUpFlags,
  use: (api: ApiClient, setUp: SetUp) => Promise<void>,
): Promise<void> {
  await withApi(context, flags, async (api, setUp) => {
    const { baseUrl = "" } = clientOptions(setUp, context.process);
    context.output.note(`API: ${maskedText(baseUrl)} (${nameOfEnvironment(api.environment, baseUrl)})`);
    await use(api, setUp);
  });
}

/** Whether a URL's host name is `localhost` or a loopback address. */
export function isThisMachine(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** An address of this machine is that of a sandbox or a proxy, not of production. */
function nameOfEnvironment(environment: ApiEnvironment, baseUrl: string): string {
  if (environment === "test") return "the test environment";
  return isThisMachine(new URL(baseUrl).hostname) ? "this machine" : "production";
}

/** Runs `use` with a client of the API. Explains errors of its calls in terms of the command line. */
export async function withApi(
  context: CliContext,
  flags: SetUpFlags,
  use: (api: ApiClient, setUp: SetUp) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  const api = openClient(setUp, context.process, clientOptions(setUp, context.process));
  await use(api, setUp).catch((error: unknown) => {
    throw explainedCall(error);
  });
}

/** Throws `missing_credentials` or `invalid_option`, with the variable or the file that has the mistake. */
export function openClient(setUp: SetUp, { env }: CliProcess, options: ClientOptions): ApiClient {
  const variables = clientVariables(setUp);
  refuseMissing(options, variables);
  try {
    return createClient(options);
  } catch (error) {
    const variable = variables[(error as Partial<WebhookError>).option as keyof typeof variables];
    throw at(env[variable]?.trim() ? variable : setUp.file, error);
  }
}

/** If the config has its own `exchange`, only the base URL is needed. */
function refuseMissing(options: ClientOptions, variables: ReturnType<typeof clientVariables>): void {
  const needed = options.exchange === undefined ? Object.keys(variables) : ["baseUrl"];
  const missing = (needed as (keyof typeof variables)[]).filter((name) => !options[name]);
  if (missing.length === 0) return;
  const names = missing.map((name) => variables[name]);
  const isOne = names.length === 1;
  throw programError(
    "missing_credentials",
    `${names.join(", ").replace(/, (\w+)$/, " and $1")} ${isOne ? "is" : "are"} not set.`,
    `Set ${isOne ? "it" : "them"}, or give a config file the same as api: { ${missing.join(", ")} }. To try it out, start esim-webhooks sandbox: it prints the command that writes all three into a file.`,
  );
}
