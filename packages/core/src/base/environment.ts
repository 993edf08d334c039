import { WebhookError } from "./errors.ts";

/** An environment of the partner API. Each has its own address, credentials, endpoints and secrets. */
export type ApiEnvironment = "production" | "test";

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment that `ESIM_ENVIRONMENT` names; undefined if it is not set or empty. Throws `invalid_option` for another name. */
export function namedEnvironment(variables: Variables = process.env): ApiEnvironment | undefined {
  const name = variables["ESIM_ENVIRONMENT"]?.trim() || undefined;
  if (name === undefined || name === "production" || name === "test") return name;
  throw new WebhookError("invalid_option", `ESIM_ENVIRONMENT is "${name}".`, "Write production or test.");
}

/** The name of a variable in an environment: `ESIM_API_URL` is `ESIM_TEST_API_URL` in the test environment. */
export function variableIn(environment: ApiEnvironment | undefined, name: string): string {
  return environment === "test" ? name.replace("ESIM_", "ESIM_TEST_") : name;
}

/** The default source of an environment. Each has another one, so that both can share a database. */
export function sourceIn(environment: ApiEnvironment | undefined = namedEnvironment()): string {
  return environment === "test" ? "test" : "default";
}
