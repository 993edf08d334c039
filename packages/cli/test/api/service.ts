import { type ApiClient, createClient } from "@esim-webhooks/client";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import { onTestFinished } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { type CliOptions, cli, type Ended } from "../cli.ts";

/** The partner service, and the command line as its client would call it. */
export interface Service {
  readonly sandbox: Sandbox;
  /** For what a test needs before it calls the command line. */
  readonly api: ApiClient;
  /** The variables that a client sets. */
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], options?: CliOptions): Promise<Ended>;
}

/** Starts the service for one test. */
export async function startService(options: SandboxOptions = {}): Promise<Service> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const { url, credentials } = sandbox;
  const env = variablesOf(sandbox);
  return {
    sandbox,
    api: createClient({ baseUrl: url, ...credentials }),
    env,
    run: (args, given = {}) => cli(["api", ...args], { ...given, env: { ...env, ...given.env } }),
  };
}

/** The variables that a client of this service sets. */
export function variablesOf({ url, credentials }: Sandbox): Readonly<Record<string, string>> {
  return {
    ESIM_API_URL: url,
    ESIM_CLIENT_ID: credentials.clientId,
    ESIM_CLIENT_SECRET: credentials.clientSecret,
    ESIM_WEBHOOK_SECRET: "",
  };
}

/** A receiver that answers with this status and body, for one test. Resolves to its URL. */
export async function startReceiver(status: number, body: string): Promise<string> {
  const { url, close } = await listen(
    (request, response) => void request.resume().on("end", () => response.writeHead(status).end(body)),
    "/webhooks",
    async () => {},
  );
  onTestFinished(close);
  return url;
}
