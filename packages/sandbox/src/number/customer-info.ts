import * as z from "zod";

const text = z.string().min(1);

const address = z.object({
  street: text,
  /** Required for a number into which a Dutch one is ported. */
  streetNumber: text.optional(),
  streetNumberAddition: z.string().optional(),
  streetLine2: z.string().optional(),
  city: text,
  state: z.string().optional(),
  postalCode: text,
  countryCode: z.string().regex(/^[A-Z]{2}$/, 'expected two letters (ISO 3166-1), such as "NL"'),
});

/** Whom a number is for. */
export const customerInfo = z.object({
  firstName: text,
  lastName: text,
  companyName: z.string().optional(),
  email: z.email().optional(),
  phone: z.string().optional(),
  address,
});

export type CustomerInfo = z.output<typeof customerInfo>;
