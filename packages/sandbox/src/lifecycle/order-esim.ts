import * as z from "zod";
import { findClient } from "../account/clients.ts";
import { takeFromStock } from "../account/variants.ts";
import { newEsimReference, newIccid, newProfileReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { type Esim, emitOf, findEsim } from "../esim/esim.ts";
import { createPortIn } from "../number/create-port-in.ts";
import { newPortInSchema } from "../number/new-port-in.ts";

export const esimOrderSchema = z
  .object({
    /** A variant of the catalog. Default: the client's `defaultEsimVariant`. */
    esimVariant: z.string().optional().meta({ description: "Default: the client's defaultEsimVariant" }),
    /** The client's own id of the profile. No two of its profiles have the same. */
    externalProfileId: z.string().min(1).max(255).optional().meta({
      description: "The client's own id of the profile. No two of its profiles have the same",
    }),
    /** A number to port into the eSIM. The port-in request exists from the start, so the eSIM cannot be activated before it. */
    portIn: newPortInSchema.optional(),
  })
  .meta({ id: "EsimOrder" });

/**
 * The body of `POST /esims`.
 * @useDeclaredType
 */
export type EsimOrder = z.input<typeof esimOrderSchema>;

/** Creates a profile with an eSIM that is ready to be downloaded. */
export function orderEsim(service: Service, clientReference: string, order: EsimOrder = {}): Esim {
  return service.db.transaction(() => {
    const { externalProfileId, portIn } = order;
    const client = findClient(service, clientReference);
    const esimVariant = order.esimVariant ?? client.defaultEsimVariant;
    if (esimVariant === null) {
      throw new Refused(
        "invalid",
        "esimVariant: it is missing, and the client has no default variant. Name one of the catalog.",
      );
    }
    if (externalProfileId !== undefined) checkIsFree(service, clientReference, externalProfileId);
    checkRoom(service, clientReference, client.limits.maxProfiles);
    takeFromStock(service, clientReference, esimVariant);
    const esimReference = addEsim(service, clientReference, esimVariant, externalProfileId ?? null);
    if (portIn) createPortIn(service, esimReference, portIn);
    const esim = findEsim(service, esimReference);
    emitOf(service, esim, "esim.assigned");
    return esim;
  });
}

function addEsim(
  service: Service,
  clientReference: string,
  esimVariant: string,
  externalProfileId: string | null,
): string {
  const profileReference = newProfileReference();
  const esimReference = newEsimReference();
  service.db.run(
    "insert into profiles (profileReference, clientReference, externalProfileId) values (?, ?, ?)",
    profileReference,
    clientReference,
    externalProfileId,
  );
  service.db.run(
    `insert into esims (esimReference, profileReference, esimVariant, iccid, profileState, lifecycleStatus, currency, createdAt)
      values (?, ?, ?, ?, 'released', 'active', 'EUR', ?)`,
    esimReference,
    profileReference,
    esimVariant,
    newIccid(),
    service.clock.now(),
  );
  return esimReference;
}

function checkIsFree(service: Service, clientReference: string, externalProfileId: string): void {
  const owner = service.db.get<{ profileReference: string }>(
    "select profileReference from profiles where clientReference = ? and externalProfileId = ?",
    clientReference,
    externalProfileId,
  );
  if (!owner) return;
  throw new Refused(
    "external_profile_taken",
    `The externalProfileId "${externalProfileId}" of this order already belongs to your profile ${owner.profileReference}. Use that profile, or order with another externalProfileId.`,
  );
}

function checkRoom(service: Service, clientReference: string, maxProfiles: number): void {
  const row = service.db.get<{ profiles: number }>(
    "select count(*) as profiles from profiles where clientReference = ?",
    clientReference,
  );
  if (row && row.profiles < maxProfiles) return;
  throw new Refused(
    "max_profiles",
    `The client has ${maxProfiles === 1 ? "1 profile" : `${maxProfiles} profiles`} and may hold no more. Ask support to raise limits.maxProfiles.`,
  );
}
