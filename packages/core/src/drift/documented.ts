import { safeParse } from "zod/v4/core";
import { esimSchemas } from "../event/esim-catalog.ts";
import type { EsimBalanceUpdatedData, FaultReason, LifecycleStatus } from "../event/esim-events.ts";
import { type JsonTypes, jsonTypeOf } from "./json-type.ts";

/** The documented data of an event type. */
export interface DocumentedType {
  /** Field → the JSON types that it can have. */
  readonly fields: ReadonlyMap<string, JsonTypes>;
  /** The fields that each event has. */
  readonly required: readonly string[];
  /** The fields that are enumerations, each with its values. */
  readonly enumerations: readonly Enumeration[];
}

/** A field that is an enumeration, and its documented values. */
export interface Enumeration {
  readonly field: string;
  readonly values: ReadonlySet<string>;
}

/** The documented members of an open enumeration. */
type Known<Value> = Value extends string ? (string extends Value ? never : Value) : never;

/** Makes an enumeration. `values` is a record, so that a list without one of the documented values does not compile. */
function enumeration<Value extends string>(field: string, values: Record<Known<Value>, true>): Enumeration {
  return { field, values: new Set(Object.keys(values)) };
}

const previous = enumeration<LifecycleStatus>("previousLifecycleStatus", {
  active: true,
  suspended: true,
  terminated: true,
});
const lifecycle = <Status extends LifecycleStatus>(status: Status) => [
  enumeration<Status>("lifecycleStatus", { [status]: true } as Record<Known<Status>, true>),
  previous,
];

/** The enumerations that the API documents. `reason` of a balance is free text. */
const enumerations: Readonly<Record<string, readonly Enumeration[]>> = {
  "esim.faulted": [
    enumeration<FaultReason>("reason", {
      download_order_expired: true,
      user_rejected: true,
      download_failed: true,
      device_out_of_memory: true,
      already_installed: true,
      install_interrupted: true,
      install_failed: true,
      unknown: true,
    }),
  ],
  "esim.lifecycle.suspended": lifecycle("suspended"),
  "esim.lifecycle.activated": lifecycle("active"),
  "esim.lifecycle.terminated": lifecycle("terminated"),
  "esim.balance.updated": [
    enumeration<EsimBalanceUpdatedData["updateType"]>("updateType", { credit: true, debit: true }),
    enumeration<EsimBalanceUpdatedData["source"]>("source", { client: true, provider: true }),
  ],
};

/** A value of each JSON type; two numbers, since a field may take only whole ones. */
const probes = [null, "", 1, 0.5, true, [], {}];

const made = new Map<string, DocumentedType | undefined>();

/**
 * Returns the documented data of a type. Undefined for a type of which not all fields are documented: package.ended, and types of other
 * catalogs. For these, the usual data is learned from their events.
 */
export function documentedType(type: string): DocumentedType | undefined {
  if (!made.has(type)) made.set(type, readSchema(type));
  return made.get(type);
}

function readSchema(type: string): DocumentedType | undefined {
  if (type === "package.ended" || !Object.hasOwn(esimSchemas, type)) return undefined;
  const { shape } = esimSchemas[type as keyof typeof esimSchemas].schema._zod.def;
  const declared = Object.entries(shape);
  const typesOf = (schema: (typeof shape)[string]) =>
    probes
      .filter((probe) => safeParse(schema, probe).success)
      .reduce<JsonTypes>((types, probe) => types | jsonTypeOf(probe), 0) || jsonTypeOf(""); // a literal accepts none of the probes: it is a string
  return {
    fields: new Map(declared.map(([field, schema]) => [field, typesOf(schema)])),
    required: declared.filter(([, schema]) => !safeParse(schema, undefined).success).map(([field]) => field),
    enumerations: enumerations[type] ?? [],
  };
}
