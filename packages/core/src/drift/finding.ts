import type { Channel } from "node:diagnostics_channel";
import { createNotice } from "../base/trace.ts";
import type { JsonType } from "./json-type.ts";

/** A way in which authentic events differ from the catalog, or from all earlier events of their type. */
export interface DriftFinding {
  /**
   * `new_type`: the catalog does not have the type. `new_field`: a field that the type did not have. `missing_field`: a field is missing that
   * is required, or was always there. `other_json_type`: a field has another JSON type. `new_value`: an enumeration has an undocumented value.
   */
  readonly kind: "new_type" | "new_field" | "missing_field" | "other_json_type" | "new_value";
  /** The field of `data`; absent for a new type. `*`: a field whose name is not kept, since it may be personal data, or there are too many. */
  readonly field?: string;
  /** The JSON type of a new field, or the other type that a known field has. */
  readonly jsonType?: JsonType;
  /** The value that is not documented. `*`: one that does not look like a word of an enumeration, and is not kept. */
  readonly value?: string;
  /** When the first such event was received, or another one some minutes before: ISO 8601. */
  readonly since: string;
}

/** A new finding. Published on `esim-webhooks:drift`, once for all processes that share the state store. */
export interface DriftMessage extends DriftFinding {
  /** The event type. `*`: a type whose name is not kept. */
  readonly type: string;
}

export const driftNotice: Channel<unknown, DriftMessage> = createNotice("drift");

/** Whether two findings are about the same change. */
export function isSameFinding(one: DriftFinding, other: DriftFinding): boolean {
  if (one.kind !== other.kind || one.field !== other.field || one.value !== other.value) return false;
  return one.kind !== "other_json_type" || one.jsonType === other.jsonType;
}

/** A finding in one sentence, without a full stop. */
export function driftText(type: string, { kind, field, jsonType, value }: DriftFinding): string {
  switch (kind) {
    case "new_type":
      return `the catalog does not have ${type}`;
    case "new_field":
      return `${type} has a new field: ${field} (${jsonType})`;
    case "missing_field":
      return `${type} no longer always has ${field}`;
    case "other_json_type":
      return `${field} of ${type} has another JSON type: ${jsonType}`;
    case "new_value":
      return `${field} of ${type} has a value that is not documented: ${value}`;
  }
}
