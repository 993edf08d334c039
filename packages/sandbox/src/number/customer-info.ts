import * as z from "zod";

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

/** Whom a number is for. */
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
