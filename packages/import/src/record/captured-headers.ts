import { isObject, parseNested } from "./fields.ts";

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Headers by name in lower case; undefined when they are not headers, or a `webhook-…` header is not text. */
export function headersOf(value: unknown, maxDepth: number): Headers | undefined {
  if (typeof value === "string") {
    const parsed = parseNested(value, maxDepth); // a column of CSV
    return "json" in parsed && typeof parsed.json !== "string" ? headersOf(parsed.json, maxDepth) : undefined;
  }
  const pairs = Array.isArray(value) ? value : isObject(value) ? Object.entries(value) : undefined;
  if (!pairs?.every(isPair)) return undefined;
  const headers = new Map<string, string[]>();
  for (const [key, field] of pairs) {
    const name = key.toLowerCase();
    const texts = Array.isArray(field) ? field : [field];
    if (texts.every(isText)) headers.set(name, [...(headers.get(name) ?? []), ...texts]);
    else if (name.startsWith("webhook-")) return undefined;
  }
  return Object.fromEntries(
    [...headers].map(([name, texts]) => [name, texts.length === 1 ? (texts[0] ?? "") : texts]),
  );
}

function isPair(pair: unknown): pair is readonly [string, unknown] {
  return Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
