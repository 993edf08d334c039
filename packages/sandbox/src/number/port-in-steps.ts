import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { move, statesPassed } from "../base/state-machine.ts";
import { activateUnlessPorting, findEsim } from "../esim/esim.ts";
import { markAbandoned } from "./create-port-in.ts";
import { assignNumber, releaseNumber } from "./number.ts";
import {
  emitOfPortIn,
  endedOutcomes,
  findPortIn,
  type PortIn,
  type PortInOperation,
  type PortInStatus,
  portInMoves,
  wayToCompletion,
} from "./port-in.ts";

/** Why the donor rejected a request, or why porting failed. */
export interface PortInReason {
  /** Default: "details_mismatch" for a rejection, "provider_error" for a failure. */
  readonly code?: string | undefined;
  /** For people. Default: none. */
  readonly message?: string | undefined;
}

/** Events report these states; no event is specified for the others. */
const eventTypes: Partial<Record<PortInStatus, string>> = {
  approved: "port_in.approved",
  rejected: "port_in.rejected",
  completed: "port_in.completed",
  failed: "port_in.failed",
  cancelled: "port_in.cancelled",
};

/** Submits the request to the provider. Every later step does this first if it is still to be done. */
export function submitPortIn(service: Service, portInRequestReference: string): PortIn {
  return service.db.transaction(() => {
    const portIn = findPortIn(service, portInRequestReference);
    move(portInMoves, portIn.status, "submit");
    if (portIn.submittedAt === null) return submit(service, portIn);
    throw new Refused("illegal_transition", "The port-in request is submitted already. Take a later step.");
  });
}

function submit(service: Service, { portInRequestReference }: PortIn): PortIn {
  const now = service.clock.now();
  service.db.run(
    "update portIns set submittedAt = ?, updatedAt = ? where portInRequestReference = ?",
    now,
    now,
    portInRequestReference,
  );
  const submitted = findPortIn(service, portInRequestReference);
  emitOfPortIn(service, submitted, "port_in.submitted");
  return submitted;
}

export function approvePortIn(service: Service, portInRequestReference: string): PortIn {
  return step(service, portInRequestReference, "approve");
}

/** @param date such as "2026-12-31" */
export function schedulePortIn(service: Service, portInRequestReference: string, date: string): PortIn {
  if (!z.iso.date().safeParse(date).success) {
    throw new Refused("invalid", `date: "${date}" is no date. Write it like 2026-12-31.`);
  }
  return step(service, portInRequestReference, "schedule", () => {
    service.db.run(
      "update portIns set scheduledDate = ? where portInRequestReference = ?",
      date,
      portInRequestReference,
    );
  });
}

export function rejectPortIn(
  service: Service,
  portInRequestReference: string,
  reason: PortInReason = {},
): PortIn {
  return step(service, portInRequestReference, "reject", () => {
    setReason(service, portInRequestReference, reason.code ?? "details_mismatch", reason.message);
  });
}

export function failPortIn(
  service: Service,
  portInRequestReference: string,
  reason: PortInReason = {},
): PortIn {
  return step(service, portInRequestReference, "fail", () => {
    setReason(service, portInRequestReference, reason.code ?? "provider_error", reason.message);
  });
}

function setReason(service: Service, portInRequestReference: string, code: string, message?: string): void {
  service.db.run(
    "update portIns set reasonCode = ?, reasonMessage = ? where portInRequestReference = ?",
    code,
    message ?? null,
    portInRequestReference,
  );
}

/** Gives the eSIM the number, as the primary one of its profile, and activates its subscription. */
export function completePortIn(service: Service, portInRequestReference: string): PortIn {
  return step(service, portInRequestReference, "complete", ({ msisdn, esimReference }) => {
    const esim = findEsim(service, esimReference);
    if (esim.lifecycleStatus === "terminated") {
      throw new Refused(
        "illegal_transition",
        "The eSIM is terminated: it gets no number. Let the port-in fail.",
      );
    }
    releaseNumber(service, msisdn);
    const countryCode = msisdn.startsWith("32") ? "BE" : "NL";
    assignNumber(service, esim, { msisdn, countryCode, type: "mobile", isPrimary: true });
    const now = service.clock.now();
    service.db.run(
      "update portIns set completedAt = ? where portInRequestReference = ?",
      now,
      portInRequestReference,
    );
    service.db.run("update esims set activatedAt = ? where esimReference = ?", now, esimReference);
  });
}

export function cancelPortIn(service: Service, portInRequestReference: string): PortIn {
  return step(service, portInRequestReference, "cancel");
}

export function confirmCancelPortIn(service: Service, portInRequestReference: string): PortIn {
  return step(service, portInRequestReference, "confirmCancel");
}

/** Gives up porting into the eSIM for good, after a request that ended without success. No event reports it. */
export function abandonPortIn(service: Service, portInRequestReference: string): PortIn {
  return service.db.transaction(() => {
    const portIn = findPortIn(service, portInRequestReference);
    if (portIn.abandoned === 1 || !endedOutcomes.includes(portIn.status)) {
      const state = portIn.abandoned === 1 ? "abandoned already" : portIn.status;
      throw new Refused(
        "illegal_transition",
        `The port-in request is ${state}. Abandon one that is ${endedOutcomes.join(", ")}.`,
      );
    }
    markAbandoned(service, portIn);
    activateUnlessPorting(service, portIn.esimReference);
    return findPortIn(service, portInRequestReference);
  });
}

/** @param arrive does what the new state entails, before its event is emitted */
function step(
  service: Service,
  portInRequestReference: string,
  operation: PortInOperation,
  arrive: (portIn: PortIn) => void = () => {},
): PortIn {
  return service.db.transaction(() => {
    const before = findPortIn(service, portInRequestReference);
    const to = move(portInMoves, before.status, operation);
    if (before.submittedAt === null) submit(service, before);
    for (const status of statesPassed<PortInStatus>(wayToCompletion, before.status, to)) {
      service.db.run(
        "update portIns set status = ?, updatedAt = ? where portInRequestReference = ?",
        status,
        service.clock.now(),
        portInRequestReference,
      );
      if (status === to) arrive(before);
      const type = eventTypes[status];
      if (type) emitOfPortIn(service, findPortIn(service, portInRequestReference), type);
    }
    return findPortIn(service, portInRequestReference);
  });
}
