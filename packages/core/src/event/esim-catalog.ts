import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { $ZodObjectJIT } from "zod/v4/core";
import { type Catalog, createCatalog, type Schemas } from "./catalog.ts";

/** One of the known values, or one that the API adds later. */
export type Open<Known extends string> = Known | (string & {});

/** One of the known values, or anything else: the spec gives the field no type. */
export type Untyped<Known extends string> = Known | NonNullable<unknown> | null | undefined;

/** The fields of every eSIM event (spec 6.2). All references are opaque: store them, never parse them. */
export interface EsimData {
  readonly profileReference: string;
  readonly esimReference: string;
  readonly iccid?: string | undefined;
}

/** An eSIM was assigned after ordering and is ready to be downloaded. */
export interface EsimAssignedData extends EsimData {
  readonly iccid: string;
}

/** A profile was downloaded, installed, enabled, disabled or deleted on a device. */
export interface EsimDeviceData extends EsimData {
  /** The eUICC identifier, if available. */
  readonly eid?: string | undefined;
}

/** Why a profile failed to download or install (spec 6.2). Experimental: more values may come. */
export type FaultReason = Open<
  | "download_order_expired"
  | "user_rejected"
  | "download_failed"
  | "device_out_of_memory"
  | "already_installed"
  | "install_interrupted"
  | "install_failed"
  | "unknown"
>;

/**
 * A profile failed to download or install. Only `download_order_expired` is final: order a replacement.
 * After any other reason the device may try again, and an `esim.installed` supersedes the fault.
 */
export interface EsimFaultedData extends EsimDeviceData {
  readonly reason: FaultReason;
  /** The provider's codes and message, for people. Do not parse it. Free-form: not always text. */
  readonly detail?: unknown;
}

/** A mobile country or network code, as it was sent. A number has no leading zeros, which are part of a network code. */
export type NetworkCode = string | number;

/** The eSIM registered on another network. `previousCountry` and `previousMcc` are absent on its first registration. */
export interface EsimMccSwitchData extends EsimData {
  /** ISO 3166-1 alpha-2. */
  readonly previousCountry?: string | undefined;
  readonly previousMcc?: NetworkCode | undefined;
  readonly previousMnc?: NetworkCode | undefined;
  /** ISO 3166-1 alpha-2. Absent for networks that belong to no country (MCC 90x). */
  readonly newCountry?: string | undefined;
  readonly newMcc: NetworkCode;
  readonly newMnc?: NetworkCode | undefined;
}

export type LifecycleStatus = "active" | "suspended" | "terminated";

/** The network suspended, reactivated or terminated the line. */
export interface EsimLifecycleData<Status extends LifecycleStatus> extends EsimData {
  readonly lifecycleStatus: Status;
  readonly previousLifecycleStatus?: Open<LifecycleStatus> | undefined;
}

/** A balance credit or debit succeeded (spec 6.3). Experimental. */
export interface EsimBalanceUpdatedData extends EsimData {
  readonly updateType: Open<"credit" | "debit">;
  readonly source: Open<"client" | "provider">;
  readonly reason: string;
  /** More about the update, for people. Free-form: not always text. */
  readonly detail?: unknown;
  /** Minor units of `currency`. */
  readonly amount: number;
  /** Minor units of `currency`. */
  readonly balanceAfter: number;
  /** ISO 4217. */
  readonly currency: string;
  readonly clientTransactionId?: string | undefined;
  readonly providerTransactionId?: string | undefined;
  /** A date-time. */
  readonly occurredAt?: string | undefined;
}

/** A package ended. Only `reason` is documented; other fields are kept as sent. */
export interface PackageEndedData {
  readonly reason?: Untyped<"removed">;
  readonly [field: string]: unknown;
}

/** Event type → data, for every event type whose payload is documented. */
export interface EsimEvents {
  readonly "esim.assigned": EsimAssignedData;
  readonly "esim.downloaded": EsimDeviceData;
  readonly "esim.installed": EsimDeviceData;
  readonly "esim.enabled": EsimDeviceData;
  readonly "esim.disabled": EsimDeviceData;
  readonly "esim.deleted": EsimDeviceData;
  readonly "esim.faulted": EsimFaultedData;
  readonly "esim.mccswitch": EsimMccSwitchData;
  readonly "esim.lifecycle.suspended": EsimLifecycleData<"suspended">;
  readonly "esim.lifecycle.activated": EsimLifecycleData<"active">;
  readonly "esim.lifecycle.terminated": EsimLifecycleData<"terminated">;
  readonly "esim.balance.updated": EsimBalanceUpdatedData;
  readonly "package.ended": PackageEndedData;
}

const text = z.string("expected a string");
const integer = z.int("expected a whole number");

const networkCode = z.union([text, z.number()], "expected a string or a number");
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
 * An object that keeps unknown fields, like `z.looseObject`. Compiled where the runtime allows it, as `zod` does and
 * `zod/mini` does not: every event passes one of these.
 */
function dataOf<Shape extends z.core.$ZodShape>(shape: Shape): z.core.$ZodObject<Shape, z.core.$loose> {
  const schema: z.core.$ZodObject = new $ZodObjectJIT({
    type: "object",
    shape,
    catchall: z.unknown(),
  });
  return schema as z.core.$ZodObject<Shape, z.core.$loose>;
}

const esim = { profileReference: text, esimReference: text, iccid: optional };
const device = { ...esim, eid: optional };
const lifecycle = <Status extends LifecycleStatus>(status: Status) =>
  dataOf({
    ...esim,
    lifecycleStatus: z.literal(status, `expected "${status}"`),
    previousLifecycleStatus: optional,
  });

const schemas: { readonly [Type in keyof EsimEvents]: StandardSchemaV1<unknown, EsimEvents[Type]> } = {
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
    detail: anything,
    amount: integer,
    balanceAfter: integer,
    currency: text,
    clientTransactionId: optional,
    providerTransactionId: optional,
    occurredAt: optional,
  }),
  "package.ended": dataOf({ reason: anything }),
};

/** The twelve eSIM events of the partner API (spec 6.2, 6.3) and `package.ended`. */
export const esimCatalog: Catalog<EsimEvents> = createCatalog<EsimEvents>(schemas);

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
  return createCatalog<Extended<Added>>({ ...schemas, ...added } as never);
}
