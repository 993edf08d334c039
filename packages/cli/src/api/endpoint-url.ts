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

/** Whether two URLs are one, however they are spelt. */
export function isSameUrl(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

/** Whether two URLs are the same but for a slash at the end of their paths: to a service they are two, to most receivers one. */
export function differsInSlash(one: string, other: string): boolean {
  return !isSameUrl(one, other) && withoutSlash(one) === withoutSlash(other);
}

function plain(url: string): string {
  return URL.parse(url)?.href ?? url;
}

function withoutSlash(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url.href;
}
