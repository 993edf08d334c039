import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { $ZodObjectJIT } from "zod/v4/core";
import { withMethods } from "../base/options.ts";
import { type Catalog, catalogOf, type Schemas } from "./catalog.ts";
import type { EsimEvents, LifecycleStatus, NetworkCode } from "./esim-events.ts";

const text = z.string("expected a string");
/** Accepts any whole number. `z.int` refuses numbers beyond 2^53, but an event is not invalid because JSON.parse has rounded one. */
export const integer: z.ZodMiniNumber = z
  .number("expected a whole number")
  .check(z.refine(Number.isInteger, "expected a whole number"));

const networkCode = z.custom<NetworkCode>(
  (value) => typeof value === "string" || typeof value === "number",
  "expected a string or a number",
);
const anything = z.optional(z.unknown());

/** A field that may be absent. Null means absent too. */
const orAbsent = <Schema extends z.ZodMiniType>(schema: Schema) =>
  z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? undefined),
  );
const optional = orAbsent(text);
const optionalCode = orAbsent(networkCode);

/**
 * A schema of an object that keeps unknown fields, like `z.looseObject`, and also a field named `__proto__`, which zod drops. Compiled where
 * the runtime allows it, for speed: `zod` does that too, but not `zod/mini`.
 */
function dataOf<Shape extends z.core.$ZodShape>(shape: Shape): DataSchema<Shape> {
  const schema: z.core.$ZodObject = new $ZodObjectJIT({
    type: "object",
    shape,
    catchall: z.unknown(),
  });
  const standard = (schema as z.core.$ZodObject<Shape, z.core.$loose>)["~standard"];
  return {
    schema,
    "~standard": {
      ...standard,
      validate(data) {
        const result = standard.validate(data);
        const own = Object.getOwnPropertyDescriptor(data, "__proto__");
        if (own !== undefined && "value" in result) Object.defineProperty(result.value, "__proto__", own);
        return result;
      },
    },
  };
}

interface DataSchema<Shape extends z.core.$ZodShape>
  extends StandardSchemaV1<unknown, z.output<z.core.$ZodObject<Shape, z.core.$loose>>> {
  /** The schema from which scripts/docs makes the JSON Schemas in `events`. Drift reads it, too. */
  readonly schema: z.core.$ZodObject;
}

const esim = { profileReference: text, esimReference: text, iccid: optional };
const device = { ...esim, eid: optional };
const lifecycle = <Status extends LifecycleStatus>(status: Status) =>
  dataOf({
    ...esim,
    lifecycleStatus: z.literal(status, `expected "${status}"`),
    previousLifecycleStatus: optional,
  });

/** The schema of each type's data. */
export const esimSchemas: {
  readonly [Type in keyof EsimEvents]: StandardSchemaV1<unknown, EsimEvents[Type]> & {
    readonly schema: z.core.$ZodObject;
  };
} = {
  "esim.assigned": dataOf({ ...esim, iccid: text }),
  "esim.downloaded": dataOf(device),
  "esim.installed": dataOf(device),
  "esim.enabled": dataOf(device),
  "esim.disabled": dataOf(device),
  "esim.deleted": dataOf(device),
  "esim.faulted": dataOf({ ...device, reason: text, detail: anything }),
  "esim.mccswitch": dataOf({
    ...esim,
    previousCountry: optional,
    previousMcc: optionalCode,
    previousMnc: optionalCode,
    newCountry: optional,
    newMcc: networkCode,
    newMnc: optionalCode,
  }),
  "esim.lifecycle.suspended": lifecycle("suspended"),
  "esim.lifecycle.activated": lifecycle("active"),
  "esim.lifecycle.terminated": lifecycle("terminated"),
  "esim.balance.updated": dataOf({
    ...esim,
    updateType: text,
    source: text,
    reason: text,
    detail: optional,
    amount: integer,
    balanceAfter: integer,
    currency: text,
    clientTransactionId: optional,
    providerTransactionId: optional,
    occurredAt: optional,
  }),
  "package.ended": dataOf({ reason: anything }),
};

const fixed: ReadonlySet<unknown> = new Set(Object.values(esimSchemas));

/** The twelve eSIM events of the partner API, and `package.ended`. */
export const esimCatalog: Catalog<EsimEvents> = catalogOf<EsimEvents>(esimSchemas, fixed);

/** The schema of the option `catalog`. */
export const catalogOption: z.ZodMiniDefault<z.ZodMiniType<Catalog<unknown>>> = z._default(
  withMethods<Catalog<unknown>>("parse", "check").check(
    z.refine((catalog) => Array.isArray(catalog.types), "expected a catalog: use defineCatalog"),
  ),
  esimCatalog as Catalog<unknown>,
);

/** The eSIM events and those of `Added`. Where both have a type, `Added` wins. */
export type Extended<Added extends Schemas> = Omit<EsimEvents, keyof Added> & {
  readonly [Type in keyof Added & string]: StandardSchemaV1.InferOutput<Added[Type]>;
};

/**
 * Adds event types of your own to the eSIM catalog, or replaces some, with schemas of any Standard Schema library (zod,
 * valibot, arktype). Needed for package and port-in events, whose payloads are not documented.
 * A handler gets what the schema returns. Keep that JSON if events cross a queue.
 */
export function defineCatalog<const Added extends Schemas>(added: Added): Catalog<Extended<Added>> {
  return catalogOf<Extended<Added>>({ ...esimSchemas, ...added } as never, fixed);
}
