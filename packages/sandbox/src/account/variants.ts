import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";

/** An eSIM variant as `GET /catalog/esim-variants` shows it. */
export const variantSchema = z
  .object({
    esimVariant: z.string(),
    name: z.string(),
    description: z.string(),
    default: z.boolean(),
    inventory: z.object({ available: z.int() }).optional(),
  })
  .meta({ id: "EsimVariant" });

export type VariantRecord = z.output<typeof variantSchema>;

/** A variant that a client may order. */
export interface NewVariant {
  /** The name that an order uses. */
  readonly esimVariant: string;
  /** Its public name, for people. */
  readonly name: string;
  /** A description, for people. */
  readonly description: string;
  /** How many eSIMs can be ordered. Without it the stock has no end, and the catalog shows none. */
  readonly available?: number;
}

interface VariantRow {
  readonly esimVariant: string;
  readonly name: string;
  readonly description: string;
  readonly available: number | null;
  readonly isDefault: number;
}

export function addVariant(service: Service, clientReference: string, variant: NewVariant): void {
  service.db.run(
    "insert into variants (clientReference, esimVariant, name, description, available) values (?, ?, ?, ?, ?)",
    clientReference,
    variant.esimVariant,
    variant.name,
    variant.description,
    variant.available ?? null,
  );
}

/** The variants of a client, in the order of `esimVariant`. */
export function listVariants(service: Service, clientReference: string): VariantRecord[] {
  return service.db
    .all<VariantRow>(
      `select esimVariant, variants.name, description, available, esimVariant is defaultEsimVariant as isDefault
       from variants join clients using (clientReference) where clientReference = ? order by esimVariant`,
      clientReference,
    )
    .map(variantRecord);
}

/** How many eSIMs of the variant can still be ordered; null: any number. Throws `invalid` for a variant that the client does not have. */
export function stockOf(service: Service, clientReference: string, esimVariant: string): number | null {
  const row = service.db.get<{ available: number | null }>(
    "select available from variants where clientReference = ? and esimVariant = ?",
    clientReference,
    esimVariant,
  );
  if (row !== undefined) return row.available;
  const known = listVariants(service, clientReference).map((variant) => variant.esimVariant);
  throw new Refused(
    "invalid",
    `The client has no eSIM variant "${esimVariant}". Choose one of its catalog: ${known.join(", ")}.`,
  );
}

/** Takes one eSIM of the variant. Throws `no_stock` if there is none left, and `invalid` as `stockOf` does. */
export function takeFromStock(service: Service, clientReference: string, esimVariant: string): void {
  if (stockOf(service, clientReference, esimVariant) === 0) {
    throw new Refused(
      "no_stock",
      `No eSIM of the variant "${esimVariant}" is left. Order another variant, or wait until it is restocked.`,
    );
  }
  service.db.run(
    "update variants set available = available - 1 where clientReference = ? and esimVariant = ?",
    clientReference,
    esimVariant,
  );
}

/** Sets how many eSIMs of the variant can be ordered; null: any number. Throws `invalid` as `stockOf` does. */
export function setStock(
  service: Service,
  clientReference: string,
  esimVariant: string,
  available: number | null,
): void {
  stockOf(service, clientReference, esimVariant);
  service.db.run(
    "update variants set available = ? where clientReference = ? and esimVariant = ?",
    available,
    clientReference,
    esimVariant,
  );
}

function variantRecord({ available, isDefault, ...fields }: VariantRow): VariantRecord {
  return { ...fields, default: isDefault === 1, ...(available !== null && { inventory: { available } }) };
}
