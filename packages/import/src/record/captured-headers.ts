import { isObject, parseNested } from "./fields.ts";

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Headers by their names in lower case; undefined where they are none, or one of the signature is no text. */
export function headersOf(given: unknown, maxDepth: number): Headers | undefined {
  if (typeof given === "string") {
    const parsed = parseNested(given, maxDepth); // a column of CSV
    return "json" in parsed && typeof parsed.json !== "string" ? headersOf(parsed.json, maxDepth) : undefined;
  }
  const pairs = Array.isArray(given) ? given : isObject(given) ? Object.entries(given) : undefined;
  if (!pairs?.every(isPair)) return undefined;
  const headers = new Map<string, string[]>();
  for (const [key, value] of pairs) {
    const name = key.toLowerCase();
    const texts = Array.isArray(value) ? value : [value];
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
