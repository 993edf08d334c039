import { newPortInRequestReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { findEsim } from "../esim/esim.ts";
import { checkNewPortIn, type NewPortIn } from "./new-port-in.ts";
import { endedOutcomes, findPortIn, type PortIn, portInsOf } from "./port-in.ts";

/** Registers a request to port the number into the eSIM. The request replaces one that ended without success. */
export function createPortIn(service: Service, esimReference: string, order: NewPortIn): PortIn {
  return service.db.transaction(() => {
    const esim = findEsim(service, esimReference);
    const { msisdn, details } = checkNewPortIn(esim.esimVariant, order);
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

function notPossible(message: string): Refused {
  return new Refused("port_in_not_possible", message);
}
