import type { FaultCode } from "../dump/record.ts";

/** The fields of a record, of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Why a record holds no event. The reason does not quote it. */
export interface RecordFault {
  readonly fault: FaultCode;
  readonly reason: string;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON that a record holds as text. `maxDepth` counts from its own root. */
export function parseNested(text: string, maxDepth: number): { readonly json: unknown } | RecordFault {
  try {
    const json: unknown = JSON.parse(text);
    if (!isDeeper(json, maxDepth)) return { json };
    return { fault: "too_deep", reason: `text in it is JSON of more than ${maxDepth} levels` };
  } catch {
    return { fault: "not_json", reason: "text in it that should be JSON is not" }; // the parser's message quotes it
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
