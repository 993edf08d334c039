import { isPage } from "./json-text.ts";

/** The layout of JSON: one value per line, or any other. */
export type JsonLayout = "ndjson" | "json";

// enough lines to decide, and cheap to parse
const examinedLines = 16;

/**
 * Detects the layout from the first lines, some of which may be damaged. A value on several lines means `"json"`.
 * @param head the first lines
 * @param isWhole whether these are all lines
 */
export function jsonLayout(head: string, isWhole: boolean): JsonLayout {
  const all = head.split("\n");
  if (!isWhole) all.pop(); // it may be incomplete
  const lines = all.filter((line) => line.trim() !== "");
  const whole = lines.slice(0, examinedLines).map(isJson);
  const first = whole.indexOf(false);
  if (first === -1) return lines.length > 1 || holdsRecord(lines[0]) ? "ndjson" : "json";
  if (beginsMultilineValue(lines.slice(first))) return "json";
  return whole[0] || whole.filter(Boolean).length * 2 > whole.length ? "ndjson" : "json";
}

/** Whether a single line is a record. An array or a page is not. */
function holdsRecord(line = "[]"): boolean {
  const value: unknown = JSON.parse(line);
  return !Array.isArray(value) && !isPage(value);
}

/** Whether the lines begin with a value that spans several lines, with only its closing bracket on the last one. */
function beginsMultilineValue(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  const end = endOfValue(text);
  const beginOfLine = text.lastIndexOf("\n", end) + 1;
  const [lastLine = ""] = text.slice(beginOfLine).split("\n", 1);
  return beginOfLine > 0 && /^\s*[\]}]\s*$/.test(lastLine) && isJson(text.slice(0, end + 1));
}

/** The index of the bracket that closes the first one, or -1. */
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
