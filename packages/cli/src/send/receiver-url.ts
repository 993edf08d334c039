import type { CliProcess } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { portOf, type SetUp } from "../set-up/set-up.ts";

/** The URL that a flag names, or that is its default. Throws `invalid_usage`. */
export function receiverUrl(url: string, flag: string): string {
  const { protocol, username, password } = URL.parse(url) ?? {};
  if (username || password) {
    throw invalidUsage(
      `${flag} contains a user name or a password, which other processes can read.`,
      "Remove them: the signature authenticates a delivery.",
    );
  }
  if (protocol === "http:" || protocol === "https:") return url;
  throw invalidUsage(
    `"${url}" is not an http or https URL.`,
    "Write it like http://127.0.0.1:3000/webhooks.",
  );
}

/** The URL of `serve` on this machine with the same config and environment. */
export function urlOfServe({ config }: Pick<SetUp, "config">, { env }: CliProcess): string {
  const port = portOf(env["PORT"]) ?? config.port ?? 3000;
  return `http://127.0.0.1:${port}${config.path ?? "/webhooks"}`;
}

/** The URL of an endpoint, as it was written. Throws `invalid_usage`. */
export function endpointUrl(url: string): string {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol === "http:" || protocol === "https:") return url;
  throw invalidUsage(`"${url}" is not an http or https URL.`, "Write it like https://shop.example/webhooks.");
}
