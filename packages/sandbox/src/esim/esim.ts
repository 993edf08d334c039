import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { emitEvent } from "../webhook/emit.ts";
import { type LifecycleStatus, lifecycleStatuses, type ProfileState } from "./states.ts";

/** An eSIM and its profile, as the database has them. */
export interface Esim {
  readonly esimReference: string;
  readonly profileReference: string;
  readonly clientReference: string;
  readonly externalProfileId: string | null;
  readonly esimVariant: string;
  readonly iccid: string;
  readonly eid: string | null;
  readonly profileState: ProfileState;
  readonly lifecycleStatus: LifecycleStatus;
  readonly activatedAt: number | null;
  readonly network: string | null;
  readonly country: string | null;
  readonly balance: number;
  readonly currency: string;
  readonly createdAt: number;
}

const select =
  "select esims.*, clientReference, externalProfileId from esims join profiles using (profileReference)";

/** Throws `Refused("not_found")`. */
export function findEsim(service: Service, esimReference: string): Esim {
  const esim = service.db.get<Esim>(`${select} where esimReference = ?`, esimReference);
  if (!esim)
    throw new Refused("not_found", `There is no eSIM ${esimReference}. Take the esimReference of an order.`);
  return esim;
}

/** The eSIM of that profile, if it is this client's. Throws `Refused`: `not_found`, `not_yours`. */
export function findEsimOf(
  service: Service,
  clientReference: string,
  profileReference: string,
  esimReference: string,
): Esim {
  const profile = service.db.get<{ clientReference: string }>(
    "select clientReference from profiles where profileReference = ?",
    profileReference,
  );
  if (!profile)
    throw new Refused("not_found", `There is no profile ${profileReference}. Take the one of an order.`);
  if (profile.clientReference !== clientReference) throw notYours(`The profile ${profileReference}`);
  const esim = findEsim(service, esimReference);
  if (esim.clientReference !== clientReference) throw notYours(`The eSIM ${esimReference}`);
  if (esim.profileReference === profileReference) return esim;
  throw new Refused(
    "not_found",
    `The profile ${profileReference} has no eSIM ${esimReference}. Take both references from one order.`,
  );
}

function notYours(what: string): Refused {
  return new Refused("not_yours", `${what} belongs to another client. Use the credentials of that one.`);
}

/** An eSIM as the API shows it. The specification shows no such record: its fields are our choice. */
export const esimSchema = z
  .object({
    profileReference: z.string(),
    esimReference: z.string(),
    iccid: z.string(),
    esimVariant: z.string(),
    externalProfileId: z.string().nullable(),
    lifecycleStatus: z.enum(lifecycleStatuses),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "Esim" });

export type EsimRecord = z.output<typeof esimSchema>;

export function esimRecord(esim: Esim): EsimRecord {
  const { profileReference, esimReference, iccid, esimVariant, externalProfileId, lifecycleStatus } = esim;
  const createdAt = new Date(esim.createdAt).toISOString();
  return {
    profileReference,
    esimReference,
    iccid,
    esimVariant,
    externalProfileId,
    lifecycleStatus,
    createdAt,
  };
}

/** Emits an event of the eSIM to its client. The fields of `data` come after the references. */
export function emitOf(service: Service, esim: Esim, type: string, data: object = {}): void {
  const { profileReference, esimReference, iccid } = esim;
  emitEvent(service, esim.clientReference, {
    type,
    data: { profileReference, esimReference, iccid, ...data },
  });
}

/**
 * Activates the subscription of an eSIM that has been on a network, unless a number is still to be ported into it: then
 * it stays pre-active until the port-in is completed or abandoned.
 */
export function activateUnlessPorting(service: Service, esimReference: string): void {
  service.db.run(
    `update esims set activatedAt = ? where esimReference = ? and activatedAt is null and network is not null
      and not exists (select 1 from portIns where portIns.esimReference = esims.esimReference
        and abandoned = 0 and status <> 'completed')`,
    service.clock.now(),
    esimReference,
  );
}
