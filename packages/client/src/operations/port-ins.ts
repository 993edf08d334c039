import type { Open } from "@esim-webhooks/core";
import * as z from "zod/mini";
import { checkRequest, requestSchema } from "../base/check-request.ts";
import type { Caller, ChangeOptions } from "./caller.ts";
import { dataOf, ifThere } from "./data-of.ts";
import { path } from "./path.ts";

/**
 * The answers for the donor, the operator that the number leaves. The eSIM variant decides which fields are needed.
 * @experimental
 */
export interface DonorDetails {
  /** How the number is paid for at the donor. */
  readonly donorContractType: "prepaid" | "postpaid";
  /** The card number of the donor's SIM. Personal data. */
  readonly donorIccid?: string | undefined;
  /** The account or customer number at the donor. */
  readonly donorAccountNumber?: string | undefined;
}

/**
 * The number that is ported.
 * @experimental
 */
export interface CreatePortInRequest {
  /**
   * The number: country code first, no `+` and no 0 after the country code. Belgium: 324 and 8 digits; the Netherlands: 316
   * and 8 digits.
   */
  readonly msisdn: string;
  /** The answers for the donor. */
  readonly details: DonorDetails;
}

/**
 * A request to port a number into an eSIM.
 * @experimental
 */
export interface PortIn {
  /** Identifies the request. Opaque. */
  readonly portInRequestReference: string;
  /** The profile of the eSIM. */
  readonly profileReference: string;
  /** The eSIM that gets the number. */
  readonly esimReference: string;
  /** The number. Personal data. */
  readonly msisdn: string;
  /** As `DonorDetails`, if it is there. Personal data. */
  readonly details?: Readonly<Record<string, unknown>> | null | undefined;
  /** `rejected`, `failed` and `cancelled` are ends after which a corrected request can be created, unless porting was `abandoned`. */
  readonly status: Open<
    "requested" | "approved" | "scheduled" | "cancelling" | "completed" | "rejected" | "failed" | "cancelled"
  >;
  /** Why it was rejected or failed. */
  readonly reason?:
    | {
        /** A code of the service. */
        readonly code: string;
        /** The same, for people. */
        readonly message?: string | null | undefined;
      }
    | null
    | undefined;
  /** A date. */
  readonly scheduledDate?: string | null | undefined;
  /** A date-time; null until it is submitted. */
  readonly submittedAt?: string | null | undefined;
  /** A date-time. */
  readonly completedAt?: string | null | undefined;
  /** Given up for good in favour of the temporary number: no corrected request is possible. */
  readonly abandoned?: boolean | null | undefined;
  /** A date-time. */
  readonly createdAt: string;
  /** A date-time. */
  readonly updatedAt: string;
}

/** Ports numbers into eSIMs. */
export interface PortIns {
  /**
   * Asks for a number to be ported into an eSIM that was never activated. It can follow an earlier request that ended without
   * success. Rejects with `conflict` if the eSIM was activated, if a request is under way, or if porting was abandoned.
   * @experimental
   */
  create(
    profileReference: string,
    esimReference: string,
    request: CreatePortInRequest,
    options?: ChangeOptions,
  ): Promise<PortIn>;
}

const text = z.string();
const optionalText = z.optional(text);

const msisdn = text.check(
  z.regex(
    /^[1-9]\d{6,14}$/,
    "expected digits with the country code first, without + and without a leading 0",
  ),
  z.refine(
    (value) => !value.startsWith("32") || /^324\d{8}$/.test(value),
    "expected 324 and 8 digits for Belgium",
  ),
  z.refine(
    (value) => !value.startsWith("31") || /^316\d{8}$/.test(value),
    "expected 316 and 8 digits for the Netherlands",
  ),
);

const createRequest = requestSchema<CreatePortInRequest>({
  msisdn,
  details: requestSchema<DonorDetails>({
    donorContractType: z.enum(["prepaid", "postpaid"]),
    donorIccid: optionalText,
    donorAccountNumber: optionalText,
  }),
});

const textIfThere = ifThere(text);
const portIn: z.ZodMiniType<PortIn> = z.looseObject({
  portInRequestReference: text,
  profileReference: text,
  esimReference: text,
  msisdn: text,
  details: ifThere(z.record(text, z.unknown())),
  status: text,
  reason: ifThere(z.looseObject({ code: text, message: textIfThere })),
  scheduledDate: textIfThere,
  submittedAt: textIfThere,
  completedAt: textIfThere,
  abandoned: ifThere(z.boolean()),
  createdAt: text,
  updatedAt: text,
});

export function portIns(caller: Caller): PortIns {
  return {
    async create(profileReference, esimReference, request, options) {
      const name = "portIns.create";
      const body = checkRequest(name, createRequest, request);
      const at = path`/profiles/${profileReference}/esims/${esimReference}/port-ins`;
      return caller.call({ name, method: "POST", path: at, body }, options, dataOf(portIn));
    },
  };
}
