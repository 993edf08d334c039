/** A type of JSON. */
export type JsonType = "null" | "string" | "number" | "boolean" | "array" | "object";

/** The types of JSON, each at the place of its bit in a `JsonTypes`. */
const names: readonly JsonType[] = ["null", "string", "number", "boolean", "array", "object"];

/** A set of JSON types: a bit for each. Comparing two of them makes no garbage. */
export type JsonTypes = number;

/** The JSON type of a parsed value, as a set of one. */
export function jsonTypeOf(value: unknown): JsonTypes {
  switch (typeof value) {
    case "string":
      return 2;
    case "number":
      return 4;
    case "boolean":
      return 8;
    default:
      return value === null ? 1 : Array.isArray(value) ? 16 : 32;
  }
}

/** The names of the types in a set. */
export function jsonTypeNames(types: JsonTypes): JsonType[] {
  return names.filter((_, bit) => types & (1 << bit));
}

/** The set of the named types. Other names are ignored. */
export function jsonTypesOf(named: readonly unknown[]): JsonTypes {
  return names.reduce<JsonTypes>(
    (types, name, bit) => (named.includes(name) ? types | (1 << bit) : types),
    0,
  );
}
