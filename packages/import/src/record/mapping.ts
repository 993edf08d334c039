import type { Fields } from "./fields.ts";

/** Our field → its place in records of another shape: a dotted path such as `"message.id"`. */
export type Mapping = Readonly<Record<string, string>>;

/** The fields that can be mapped: those of a record of the deliveries listing, or of a captured request. */
export const mappable: readonly string[] = [
  "eventId",
  "eventType",
  "payload",
  "status",
  "attemptNumber",
  "httpStatus",
  "nextRetryAt",
  "sentAt",
  "deliveredAt",
  "headers",
  "body",
  "receivedAt",
];

/** Finds our fields in records of another shape. It reads own properties only, so no path leads to a prototype. */
export function createMapper(mapping: Mapping): (value: unknown) => Fields {
  const paths = Object.entries(mapping);
  return (value) => Object.fromEntries(paths.map(([field, path]) => [field, valueAt(value, path)]));
}

function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, path)) return (value as Fields)[path]; // a column may be named "message.id"
  const dot = path.indexOf(".");
  const head = path.slice(0, dot);
  if (dot === -1 || !Object.hasOwn(value, head)) return undefined;
  return valueAt((value as Fields)[head], path.slice(dot + 1));
}
