import { randomBytes } from "node:crypto";
import * as z from "zod";
import { newClientReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { addVariant, type NewVariant } from "./variants.ts";

/** A client as `GET /management/client` shows it. */
export const clientSchema = z
  .object({
    clientReference: z.string(),
    name: z.string(),
    defaultEsimVariant: z.string().nullable(),
    limits: z.object({ maxProfiles: z.int() }),
  })
  .meta({ id: "Client" });

export type ClientRecord = z.output<typeof clientSchema>;

/** The id and secret with which a client authenticates. */
export interface Credentials {
  /** Also the reference of the client: 6 digits, unless another one was chosen. */
  readonly clientId: string;
  /** The secret that belongs to it. */
  readonly clientSecret: string;
}

/** A client to add. */
export interface NewClient {
  /** Default: one that is made up. */
  readonly clientReference?: string;
  /** The secret with which it authenticates. Default: one that is made up. */
  readonly clientSecret?: string;
  /** Default "Partner". */
  readonly name?: string;
  /** Default 1,000,000. */
  readonly maxProfiles?: number;
  /** Default: the first variant. Null: an order has to name one. */
  readonly defaultEsimVariant?: string | null;
  /** Default: "standard", and "premium", whose stock is 100. */
  readonly variants?: readonly NewVariant[];
}

interface ClientRow {
  readonly clientReference: string;
  readonly name: string;
  readonly defaultEsimVariant: string | null;
  readonly maxProfiles: number;
}

const usualVariants: readonly NewVariant[] = [
  { esimVariant: "standard", name: "Standard", description: "Data in all countries of a plan." },
  { esimVariant: "premium", name: "Premium", description: "Data and a phone number.", available: 100 },
];

/** Adds a client. Throws `invalid` for a reference that another client has, a variant that occurs twice, and a default variant that the client does not have. */
export function addClient(service: Service, client: NewClient = {}): Credentials {
  const clientReference = client.clientReference ?? newClientReference();
  const clientSecret = client.clientSecret ?? newClientSecret();
  const variants = client.variants ?? usualVariants;
  const defaultEsimVariant =
    client.defaultEsimVariant === undefined ? (variants[0]?.esimVariant ?? null) : client.defaultEsimVariant;
  checkVariants(
    variants.map(({ esimVariant }) => esimVariant),
    defaultEsimVariant,
  );
  service.db.transaction(() => {
    if (service.db.get("select 1 from clients where clientReference = ?", clientReference))
      throw new Refused("invalid", `There is a client ${clientReference}. Choose another clientReference.`);
    service.db.run(
      "insert into clients (clientReference, clientSecret, name, defaultEsimVariant, maxProfiles) values (?, ?, ?, ?, ?)",
      clientReference,
      clientSecret,
      client.name ?? "Partner",
      defaultEsimVariant,
      client.maxProfiles ?? 1_000_000,
    );
    for (const variant of variants) addVariant(service, clientReference, variant);
  });
  return { clientId: clientReference, clientSecret };
}

/** Returns a new secret. Its underscore is no base64 character, so it is not mistaken for a signing secret. */
const newClientSecret = (): string => `sandbox_${randomBytes(24).toString("base64url")}`;

function checkVariants(names: readonly string[], defaultName: string | null): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new Refused("invalid", `The variant "${twice}" is there twice. Name each variant once.`);
  if (defaultName === null || names.includes(defaultName)) return;
  throw new Refused(
    "invalid",
    `The defaultEsimVariant "${defaultName}" is none of the client's variants. Choose one of them: ${names.join(", ")}.`,
  );
}

/** Throws `not_found` if there is none. */
export function findClient(service: Service, clientReference: string): ClientRecord {
  const row = service.db.get<ClientRow>(
    "select clientReference, name, defaultEsimVariant, maxProfiles from clients where clientReference = ?",
    clientReference,
  );
  if (row === undefined) {
    throw new Refused("not_found", `There is no client ${clientReference}. Add it, or name one that exists.`);
  }
  const { maxProfiles, ...fields } = row;
  return { ...fields, limits: { maxProfiles } };
}
