import * as z from "zod";
import { problemsOf, Refused } from "../base/refused.ts";

/** The details of the customer that the donor needs. Unknown fields are refused. */
export const donorDetailsSchema = z
  .strictObject({
    /** How the number is paid for at the donor. */
    donorContractType: z.enum(["prepaid", "postpaid"]),
    /** The card number of the SIM at the donor: 18 to 20 digits. */
    donorIccid: z
      .string()
      .regex(/^89\d{16,18}$/, "expected 18 to 20 digits that begin with 89")
      .optional()
      .meta({ description: "Of the SIM at the donor" }),
    /** The account or customer number at the donor. */
    donorAccountNumber: z
      .string()
      .min(1)
      .max(50)
      .optional()
      .meta({ description: "Of the customer at the donor" }),
  })
  .meta({ id: "DonorDetails" });

export const newPortInSchema = z
  .object({
    /** The Belgian or Dutch mobile number: 324 or 316, and 8 digits. */
    msisdn: z
      .string()
      .regex(/^(?:324|316)\d{8}$/, "expected 324 or 316 and 8 digits, without a plus or a leading 0")
      .meta({ description: "The Belgian or Dutch mobile number, in international form" }),
    /** The details of the customer that the donor needs. The variant "premium" has more rules. */
    details: donorDetailsSchema,
  })
  .meta({ id: "NewPortIn" });

/**
 * The body of a port-in request.
 * @useDeclaredType
 */
export type NewPortIn = z.input<typeof newPortInSchema>;

/** The rules of the provider behind the variant "premium": exactly the one field that fits the contract. */
const premiumDetails = donorDetailsSchema
  .refine((details) => details.donorContractType !== "prepaid" || details.donorIccid !== undefined, {
    path: ["donorIccid"],
    error: "expected for a prepaid contract",
  })
  .refine((details) => details.donorContractType !== "postpaid" || details.donorAccountNumber !== undefined, {
    path: ["donorAccountNumber"],
    error: "expected for a postpaid contract",
  })
  .refine((details) => details.donorIccid === undefined || details.donorAccountNumber === undefined, {
    error: "expected either donorIccid or donorAccountNumber",
  });

/** The rules for donor details depend on the variant of the eSIM. Variants that are not listed here have only the rules of the fields. */
const schemas: Readonly<Record<string, z.ZodType<NewPortIn>>> = {
  premium: newPortInSchema.extend({ details: premiumDetails }),
};

/** Throws `Refused("invalid")`, which names each field that does not fit. */
export function checkNewPortIn(esimVariant: string, order: NewPortIn): NewPortIn {
  const result = (schemas[esimVariant] ?? newPortInSchema).safeParse(order);
  if (result.success) return result.data;
  throw new Refused(
    "invalid",
    `The port-in does not fit the eSIM variant "${esimVariant}": ${problemsOf(result.error)}. Correct it.`,
  );
}
