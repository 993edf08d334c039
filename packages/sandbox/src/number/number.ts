import * as z from "zod";
import type { Service } from "../base/service.ts";
import { move, type StateMachine } from "../base/state-machine.ts";
import type { Esim } from "../esim/esim.ts";

const text = z.string().min(1);

const addressSchema = z.object({
  street: text,
  streetNumber: text
    .optional()
    .meta({ description: "Required while a Dutch number is ported into the eSIM" }),
  streetNumberAddition: z.string().optional(),
  streetLine2: z.string().optional(),
  city: text,
  state: z.string().optional(),
  postalCode: text,
  countryCode: z.string().regex(/^[A-Z]{2}$/, 'expected two letters (ISO 3166-1), such as "NL"'),
});

/** The customer of a number. */
export const customerInfoSchema = z
  .object({
    firstName: text,
    lastName: text,
    companyName: z.string().optional(),
    email: z.email().optional(),
    phone: z.string().optional(),
    address: addressSchema,
  })
  .meta({ id: "CustomerInfo" });

export type CustomerInfo = z.output<typeof customerInfoSchema>;

export const numberTypes = ["local", "mobile", "tollfree"] as const;
export type NumberType = (typeof numberTypes)[number];
const numberStatuses = ["active", "suspended", "released"] as const;
export type NumberStatus = (typeof numberStatuses)[number];
type NumberOperation = "suspend" | "reactivate" | "release";

/** A number is suspended, reactivated or released when its eSIM is suspended, reactivated or terminated; also released when it is ported away. */
const numberInUse: StateMachine<NumberStatus, NumberOperation> = {
  thing: "The number",
  moves: {
    active: { suspend: "suspended", release: "released" },
    suspended: { reactivate: "active", release: "released" },
    released: {},
  },
};

/** A number of an eSIM, as the database has it. */
export interface AssignedNumber {
  readonly assignmentId: number;
  readonly profileReference: string;
  readonly esimReference: string;
  readonly iccid: string;
  readonly msisdn: string;
  readonly countryCode: string;
  readonly type: NumberType;
  readonly status: NumberStatus;
  readonly isPrimary: number;
  readonly customerInfoJson: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const select = "select numbers.*, profileReference, iccid from numbers join esims using (esimReference)";

/** The numbers that the eSIM has or had, the oldest first. */
export function numbersOf(service: Service, esimReference: string): AssignedNumber[] {
  return service.db.all<AssignedNumber>(
    `${select} where esimReference = ? order by assignmentId`,
    esimReference,
  );
}

/** Whether an eSIM has the number now. */
export function isInUse(service: Service, msisdn: string): boolean {
  return (
    service.db.get("select 1 from numbers where msisdn = ? and status <> 'released'", msisdn) !== undefined
  );
}

/** A number that an eSIM is to get. */
export interface NumberFields {
  readonly msisdn: string;
  readonly countryCode: string;
  readonly type: NumberType;
  readonly isPrimary: boolean;
  /** Absent if the number was ported. */
  readonly customerInfo?: CustomerInfo;
}

/** Gives the eSIM a number. A primary number replaces the profile's earlier primary one. */
export function assignNumber(service: Service, esim: Esim, number: NumberFields): AssignedNumber {
  return service.db.transaction(() => {
    const now = service.clock.now();
    if (number.isPrimary) {
      service.db.run(
        `update numbers set isPrimary = 0, updatedAt = ? where isPrimary = 1
          and esimReference in (select esimReference from esims where profileReference = ?)`,
        now,
        esim.profileReference,
      );
    }
    service.db.run(
      `insert into numbers (esimReference, msisdn, countryCode, type, status, isPrimary, customerInfoJson, createdAt, updatedAt)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      esim.esimReference,
      number.msisdn,
      number.countryCode,
      number.type,
      esim.lifecycleStatus === "suspended" ? "suspended" : "active",
      number.isPrimary ? 1 : 0,
      number.customerInfo ? JSON.stringify(number.customerInfo) : null,
      now,
      now,
    );
    return service.db.get<AssignedNumber>(
      `${select} where msisdn = ? and numbers.status <> 'released'`,
      number.msisdn,
    ) as AssignedNumber;
  });
}

/** Takes the number from the eSIM that has it, if any: it was ported to another one. */
export function releaseNumber(service: Service, msisdn: string): void {
  const inUse = service.db.all<AssignedNumber>(
    `${select} where msisdn = ? and numbers.status <> 'released'`,
    msisdn,
  );
  for (const number of inUse) setStatus(service, number, "release");
}

/** Suspends, reactivates or releases the eSIM's numbers, as was done to the eSIM. */
export function changeNumbersOf(service: Service, esimReference: string, operation: NumberOperation): void {
  for (const number of numbersOf(service, esimReference)) {
    if (number.status !== "released") setStatus(service, number, operation);
  }
}

function setStatus(service: Service, number: AssignedNumber, operation: NumberOperation): void {
  const status = move(numberInUse, number.status, operation);
  service.db.run(
    "update numbers set status = ?, isPrimary = ?, updatedAt = ? where assignmentId = ?",
    status,
    status === "released" ? 0 : number.isPrimary,
    service.clock.now(),
    number.assignmentId,
  );
}

/** A number assignment as the API shows it. */
export const numberSchema = z
  .object({
    assignmentId: z.int(),
    profileReference: z.string(),
    esimReference: z.string(),
    iccid: z.string(),
    msisdn: z.string(),
    countryCode: z.string(),
    type: z.enum(numberTypes),
    status: z.enum(numberStatuses),
    isPrimary: z.boolean(),
    /** Absent if the number was ported. */
    customerInfo: customerInfoSchema.optional(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "NumberAssignment" });

export type NumberRecord = z.output<typeof numberSchema>;

export function numberRecord(number: AssignedNumber): NumberRecord {
  const { assignmentId, profileReference, esimReference, iccid, msisdn, countryCode, type, status } = number;
  return {
    assignmentId,
    profileReference,
    esimReference,
    iccid,
    msisdn,
    countryCode,
    type,
    status,
    isPrimary: number.isPrimary === 1,
    ...(number.customerInfoJson !== null && { customerInfo: JSON.parse(number.customerInfoJson) }),
    createdAt: new Date(number.createdAt).toISOString(),
    updatedAt: new Date(number.updatedAt).toISOString(),
  };
}
