import { ProgramError } from "../program/program-error.ts";

/** The URL of an endpoint, as somebody wrote it. Throws `invalid_usage`. */
export function endpointUrl(url: string): string {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol === "http:" || protocol === "https:") return url;
  throw new ProgramError(
    "invalid_usage",
    `"${url}" is not an http or https URL.`,
    "Write it like https://shop.example/webhooks.",
  );
}
