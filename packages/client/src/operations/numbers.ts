import type { Open } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { checkRequest, requestSchema } from "../base/check-request.ts";
import type { Caller, ChangeOptions } from "./caller.ts";
import { dataOf, ifThere } from "./data-of.ts";
import { path } from "./path.ts";

/** The kind of number. `local`: local or landline. `tollfree`: toll-free. */
export type NumberType = "local" | "mobile" | "tollfree";

/** A postal address. Personal data. */
export interface Address {
  /** The name of the street. */
  readonly street: string;
  /** Required when a Dutch number is ported. */
  readonly streetNumber?: string | undefined;
  /** Apartment, floor and the like. */
  readonly streetNumberAddition?: string | undefined;
  /** An additional line. */
  readonly streetLine2?: string | undefined;
  /** The city or town. */
  readonly city: string;
  /** The state or province. */
  readonly state?: string | undefined;
  /** The postal code, in the form of its country. */
  readonly postalCode: string;
  /** Two letters (ISO 3166-1). */
  readonly countryCode: string;
}

/** The person or company that a number is for. Personal data. */
export interface CustomerInfo {
  /** Given name. */
  readonly firstName: string;
  /** Family name. */
  readonly lastName: string;
  /** For business accounts. */
  readonly companyName?: string | undefined;
  /** An email address. */
  readonly email?: string | undefined;
  /** A number at which they can be reached. */
  readonly phone?: string | undefined;
  /** The postal address of the person or the company. */
  readonly address: Address;
}

/** A number that is wanted, and its owner. */
export interface AllocateNumberRequest {
  /** The eSIM that gets the number. */
  readonly esimReference: string;
  /** Two to six letters: an ISO country code, or a region such as `GLOBAL`. */
  readonly countryCode: string;
  /** The kind of number. Default: the service decides. */
  readonly type?: NumberType | undefined;
  /** Whether it becomes the profile's primary number. Default true. */
  readonly isPrimary?: boolean | undefined;
  /** Who the number is for. */
  readonly customerInfo: CustomerInfo;
}

/** A number that belongs to an eSIM. The API does not say which fields are always there. */
export interface NumberAssignment {
  /** Identifies the assignment. */
  readonly assignmentId?: number | string | null | undefined;
  /** The profile that the number is allocated to. */
  readonly profileReference?: string | null | undefined;
  /** The eSIM that has the number. */
  readonly esimReference?: string | null | undefined;
  /** Personal data. */
  readonly iccid?: string | null | undefined;
  /** The number. Personal data. */
  readonly msisdn?: string | null | undefined;
  /** An ISO country code. */
  readonly countryCode?: string | null | undefined;
  /** The kind of number. */
  readonly type?: Open<NumberType> | null | undefined;
  /** The state of the number. */
  readonly status?: Open<"active" | "suspended" | "released"> | null | undefined;
  /** Whether it is the profile's primary number. */
  readonly isPrimary?: boolean | null | undefined;
  /** As `CustomerInfo`, if it is there. */
  readonly customerInfo?: Readonly<Record<string, unknown>> | null | undefined;
  /** A date-time. */
  readonly createdAt?: string | null | undefined;
  /** A date-time. */
  readonly updatedAt?: string | null | undefined;
}

/** Allocates phone numbers. */
export interface Numbers {
  /** Allocates a new phone number to an eSIM. */
  allocate(
    profileReference: string,
    request: AllocateNumberRequest,
    options?: ChangeOptions,
  ): Promise<NumberAssignment>;
}

const text = z.string();
const optionalText = z.optional(text);
const letters = (pattern: RegExp, expected: string) => text.check(z.regex(pattern, `expected ${expected}`));

const allocateRequest = requestSchema<AllocateNumberRequest>({
  esimReference: text.check(z.minLength(1)),
  countryCode: letters(/^[A-Za-z]{2,6}$/, "2 to 6 letters"),
  type: z.optional(z.enum(["local", "mobile", "tollfree"])),
  isPrimary: z.optional(z.boolean()),
  customerInfo: requestSchema<CustomerInfo>({
    firstName: text,
    lastName: text,
    companyName: optionalText,
    email: z.optional(letters(/^[^\s@]+@[^\s@]+$/, "an email address")),
    phone: optionalText,
    address: requestSchema<Address>({
      street: text,
      streetNumber: optionalText,
      streetNumberAddition: optionalText,
      streetLine2: optionalText,
      city: text,
      state: optionalText,
      postalCode: text,
      countryCode: letters(/^[A-Za-z]{2}$/, "2 letters"),
    }),
  }),
});

const read = ifThere(text);
const assignment: z.ZodMiniType<NumberAssignment> = z.looseObject({
  assignmentId: ifThere(z.custom<number | string>((id) => typeof id === "number" || typeof id === "string")),
  profileReference: read,
  esimReference: read,
  iccid: read,
  msisdn: read,
  countryCode: read,
  type: read,
  status: read,
  isPrimary: ifThere(z.boolean()),
  customerInfo: ifThere(z.record(text, z.unknown())),
  createdAt: read,
  updatedAt: read,
});

export function numbers(caller: Caller): Numbers {
  return {
    async allocate(profileReference, request, options) {
      const name = "numbers.allocate";
      const body = checkRequest(name, allocateRequest, request);
      const at = path`/number/${profileReference}/allocate`;
      return caller.call({ name, method: "POST", path: at, body }, options, dataOf(assignment));
    },
  };
}
