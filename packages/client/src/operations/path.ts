import { invalidRequest } from "../base/check-request.ts";

/** A path with references in it, each as one segment: `` path`/management/webhooks/${reference}` ``. */
export function path(parts: TemplateStringsArray, ...references: readonly string[]): string {
  return parts
    .map((part, index) => part + (index < references.length ? segment(references[index]) : ""))
    .join("");
}

function segment(reference: unknown): string {
  // "", "." and ".." would change the path of the call; any other text is one segment once it is encoded
  const isText = typeof reference === "string" && reference.isWellFormed();
  if (isText && !/^(?:\.{0,2})$/.test(reference)) return encodeURIComponent(reference);
  throw invalidRequest(
    "the path of a call",
    "a reference is not a text, or is empty",
    "Pass it as the API returned it.",
  );
}

/** The URL of a path below the base URL. Throws `invalid_request` for a path that leads elsewhere. */
export function pathUrl(
  name: string,
  baseUrl: string,
  path: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const url = typeof path === "string" && path.startsWith("/") ? URL.parse(baseUrl + path) : null;
  if (url === null || !url.href.startsWith(`${baseUrl}/`) || url.hash !== "") {
    throw invalidRequest(
      name,
      "the path does not lead below the base URL",
      'Begin it with "/", as in "/esims".',
    );
  }
  for (const [field, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(field, String(value));
  }
  return url.href;
}
