import { isPage } from "./json-text.ts";

/** How JSON is laid out: one value a line, or any other way. */
export type JsonLayout = "ndjson" | "json";

// enough to tell, and few enough that looking costs nothing
const linesLookedAt = 16;

/**
 * Tells by the first lines, of which some may be damaged. A value that goes over several lines is no NDJSON.
 * @param head the first lines
 * @param isWhole whether they are all
 */
export function jsonLayout(head: string, isWhole: boolean): JsonLayout {
  const all = head.split("\n");
  if (!isWhole) all.pop(); // cut off
  const lines = all.filter((line) => line.trim() !== "");
  const whole = lines.slice(0, linesLookedAt).map(isJson);
  const first = whole.indexOf(false);
  if (first === -1) return lines.length > 1 || holdsRecord(lines[0]) ? "ndjson" : "json";
  if (goesOn(lines.slice(first))) return "json";
  return whole[0] || whole.filter(Boolean).length * 2 > whole.length ? "ndjson" : "json";
}

/** One line alone may as well be an array or a page. */
function holdsRecord(line = "[]"): boolean {
  const value: unknown = JSON.parse(line);
  return !Array.isArray(value) && !isPage(value);
}

/** Whether the lines begin with a value that more than one of them make up, the last of which closes it and is no more. */
function goesOn(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  const end = endOfValue(text);
  const beginOfLine = text.lastIndexOf("\n", end) + 1;
  const [lastLine = ""] = text.slice(beginOfLine).split("\n", 1);
  return beginOfLine > 0 && /^\s*[\]}]\s*$/.test(lastLine) && isJson(text.slice(0, end + 1));
}

/** Where the bracket is that closes the first one, or -1. */
function endOfValue(text: string): number {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (inString && character === "\\") i++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === "[" || character === "{") depth++;
    else if ((character === "]" || character === "}") && --depth <= 0) return i;
  }
  return -1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
