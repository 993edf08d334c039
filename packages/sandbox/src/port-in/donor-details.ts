import * as z from "zod";
import { Refused } from "../base/refused.ts";

/** What the donor needs to know of its customer. Unknown fields are refused. */
export const donorDetails = z.strictObject({
  donorContractType: z.enum(["prepaid", "postpaid"]),
  /** Of the SIM at the donor. */
  donorIccid: z
    .string()
    .regex(/^89\d{16,18}$/, "expected 18 to 20 digits that begin with 89")
    .optional(),
  /** Of the customer at the donor. */
  donorAccountNumber: z.string().min(1).max(50).optional(),
});

export type DonorDetails = z.output<typeof donorDetails>;

/** The rules of the provider behind the variant "premium": exactly the one field that fits the contract. */
const premiumDetails = donorDetails
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

/** The rules depend on the variant of the eSIM. Variants that are not here have only those of the fields. */
const detailsByVariant: Readonly<Record<string, z.ZodType<DonorDetails>>> = { premium: premiumDetails };

/** Throws `Refused("invalid")`, which names each field that does not fit. */
export function checkDonorDetails(esimVariant: string, details: unknown): DonorDetails {
  const result = (detailsByVariant[esimVariant] ?? donorDetails).safeParse(details);
  if (result.success) return result.data;
  const issues = result.error.issues.map(
    ({ path, message }) => `${["details", ...path].join(".")}: ${message}`,
  );
  throw new Refused(
    "invalid",
    `The donor details do not fit the eSIM variant "${esimVariant}": ${issues.join("; ")}. Correct them.`,
  );
}
