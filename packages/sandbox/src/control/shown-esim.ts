import type { Service } from "../base/service.ts";
import { type Esim, findEsim } from "../esim/esim.ts";
import type { LifecycleStatus, ProfileState } from "../esim/states.ts";
import { packagesOf } from "../lifecycle/lifecycle.ts";
import { numberRecord, numbersOf } from "../number/number.ts";
import { portInRecord, portInsOf } from "../number/port-in.ts";
import { type Page, type PageRequest, pageOf } from "../webhook/pagination.ts";

/** An eSIM as the control side shows it: with everything that the service knows of it. Times are RFC 3339. */
export interface ShownEsim {
  /** The profile that the eSIM belongs to. */
  readonly profileReference: string;
  /** Identifies the eSIM: 18 digits. */
  readonly esimReference: string;
  /** The number of its card, made up. */
  readonly iccid: string;
  /** The client that ordered it. */
  readonly clientReference: string;
  /** The client's own id of the profile. Null: the order had none. */
  readonly externalProfileId: string | null;
  /** The variant that was ordered. */
  readonly esimVariant: string;
  /** The id of the device that it was downloaded to. */
  readonly eid: string | null;
  /** The state of the profile on the device. */
  readonly profileState: ProfileState;
  /** The status of the eSIM on the network. */
  readonly lifecycleStatus: LifecycleStatus;
  /** Null until the subscription is activated: until then a number can be ported into it. */
  readonly activatedAt: string | null;
  /** "MCC-MNC" of the last registration. */
  readonly network: string | null;
  /** Two letters, of the last registration (ISO 3166-1). Null: none, or a network of no country. */
  readonly country: string | null;
  /** In minor units. */
  readonly balance: number;
  /** The currency of the balance, such as "EUR" (ISO 4217). */
  readonly currency: string;
  /** Oldest first. */
  readonly packages: readonly ShownPackage[];
  /** The newest request: no other one can be under way. */
  readonly portIn: ReturnType<typeof portInRecord> | null;
  /** Oldest first. */
  readonly numbers: readonly ReturnType<typeof numberRecord>[];
  /** When it was ordered. */
  readonly createdAt: string;
}

/** A package of an eSIM. */
export interface ShownPackage {
  /** Identifies the package. */
  readonly packageReference: string;
  /** The plan that was ordered. */
  readonly planReference: string;
  /** Whether it can still be used. */
  readonly status: "active" | "ended";
}

/** Throws `Refused("not_found")`. */
export function showEsim(service: Service, esimReference: string): ShownEsim {
  return shownEsim(service, findEsim(service, esimReference));
}

/** The eSIMs of all clients, newest first. */
export function allEsims(service: Service, page: PageRequest): Page<ShownEsim> {
  return pageOf(
    service,
    "esims of all",
    page,
    (start, limit) =>
      service.db.all<Esim & { readonly sequence: number }>(
        `select esims.*, esims.rowid as sequence, clientReference, externalProfileId
         from esims join profiles using (profileReference)
         where esims.rowid < ? order by esims.rowid desc limit ? offset ?`,
        start.sequence,
        limit,
        start.skip,
      ),
    (esim) => shownEsim(service, esim),
  );
}

function shownEsim(service: Service, esim: Esim): ShownEsim {
  const [portIn] = portInsOf(service, esim.esimReference);
  return {
    profileReference: esim.profileReference,
    esimReference: esim.esimReference,
    iccid: esim.iccid,
    clientReference: esim.clientReference,
    externalProfileId: esim.externalProfileId,
    esimVariant: esim.esimVariant,
    eid: esim.eid,
    profileState: esim.profileState,
    lifecycleStatus: esim.lifecycleStatus,
    activatedAt: esim.activatedAt === null ? null : new Date(esim.activatedAt).toISOString(),
    network: esim.network,
    country: esim.country,
    balance: esim.balance,
    currency: esim.currency,
    packages: packagesOf(service, esim.esimReference).map(({ packageReference, planReference, status }) => ({
      packageReference,
      planReference,
      status,
    })),
    portIn: portIn === undefined ? null : portInRecord(portIn),
    numbers: numbersOf(service, esim.esimReference).map(numberRecord),
    createdAt: new Date(esim.createdAt).toISOString(),
  };
}
