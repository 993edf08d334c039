import { newPortInRequestReference } from "../base/references.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { findEsim } from "../esim/esim.ts";
import { checkDonorDetails } from "./donor-details.ts";
import { findPortIn, type PortIn, portInsOf } from "./port-in.ts";
import { endedOutcomes } from "./states.ts";

export interface PortInOrder {
  /** International, without a plus: 324 or 316, and 8 digits. */
  readonly msisdn: string;
  /** Checked by the rules of the eSIM's variant. */
  readonly details: unknown;
}

/** Registers a request to port the number into the eSIM. It takes the place of one that ended without success. */
export function createPortIn(service: Service, esimReference: string, order: PortInOrder): PortIn {
  return service.db.transaction(() => {
    const esim = findEsim(service, esimReference);
    const msisdn = checkMsisdn(order.msisdn);
    const details = checkDonorDetails(esim.esimVariant, order.details);
    if (esim.lifecycleStatus === "terminated") {
      throw notPossible("The eSIM is terminated. Order another one.");
    }
    if (esim.activatedAt !== null) {
      throw notPossible(
        "The eSIM's subscription is activated, so no number can be ported into it. Order another eSIM.",
      );
    }
    const [previous] = portInsOf(service, esimReference);
    if (previous) supersede(service, previous);
    const portInRequestReference = newPortInRequestReference();
    const now = service.clock.now();
    service.db.run(
      `insert into portIns (portInRequestReference, esimReference, msisdn, detailsJson, status, createdAt, updatedAt)
        values (?, ?, ?, ?, 'requested', ?, ?)`,
      portInRequestReference,
      esimReference,
      msisdn,
      JSON.stringify(details),
      now,
      now,
    );
    return findPortIn(service, portInRequestReference);
  });
}

function supersede(service: Service, previous: PortIn): void {
  if (previous.abandoned === 1) {
    throw notPossible("Porting into this eSIM was abandoned, for good. Order another eSIM.");
  }
  if (!endedOutcomes.includes(previous.status)) {
    throw notPossible(
      `The port-in request ${previous.portInRequestReference} is ${previous.status}. Wait until it has ended.`,
    );
  }
  markAbandoned(service, previous);
}

export function markAbandoned(service: Service, { portInRequestReference }: PortIn): void {
  service.db.run(
    "update portIns set abandoned = 1, updatedAt = ? where portInRequestReference = ?",
    service.clock.now(),
    portInRequestReference,
  );
}

function checkMsisdn(msisdn: string): string {
  if (/^(?:324|316)\d{8}$/.test(msisdn)) return msisdn;
  throw new Refused(
    "invalid",
    "msisdn: it is no Belgian or Dutch mobile number. Write 324 or 316 and 8 digits, without a plus or a leading 0.",
  );
}

function notPossible(message: string): Refused {
  return new Refused("port_in_not_possible", message);
}
