import { masked, maskText } from "./mask-text.ts";

const maxDepth = 64;

/**
 * JSON with its texts and numbers as `maskLeaf` shows them.
 * @param maskLeaf gets a text or a number, and the name of its field; for an item of a list, that of the list
 */
export function maskJson(json: unknown, maskLeaf: (value: unknown, field: string) => unknown): unknown {
  function maskValue(value: unknown, field: string, depth: number): unknown {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value !== "object") return maskLeaf(value, field);
    if (depth === maxDepth) return masked;
    if (Array.isArray(value)) return value.map((item) => maskValue(item, field, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [maskText(name), maskValue(each, name, depth + 1)]),
    );
  }
  return maskValue(json, "", 0);
}
