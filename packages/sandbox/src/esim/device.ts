import { newEid } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { move, statesPassed } from "../base/state-machine.ts";
import { type Esim, emitOf, findEsim } from "./esim.ts";
import { type ProfileOperation, type ProfileState, profileOnDevice, wayOntoDevice } from "./states.ts";

/** @param eid of the device. Default: one that is made up */
export function downloadEsim(service: Service, esimReference: string, eid?: string): Esim {
  return onDevice(service, esimReference, "download", eid);
}

/** Downloads the profile first if that is still to be done. */
export function installEsim(service: Service, esimReference: string): Esim {
  return onDevice(service, esimReference, "install");
}

/** Downloads and installs the profile first if that is still to be done. */
export function enableEsim(service: Service, esimReference: string): Esim {
  return onDevice(service, esimReference, "enable");
}

export function disableEsim(service: Service, esimReference: string): Esim {
  return onDevice(service, esimReference, "disable");
}

export function deleteEsim(service: Service, esimReference: string): Esim {
  return onDevice(service, esimReference, "delete");
}

function onDevice(service: Service, esimReference: string, operation: ProfileOperation, eid?: string): Esim {
  return service.db.transaction(() => {
    const { profileState } = findEsim(service, esimReference);
    const to = move(profileOnDevice, profileState, operation);
    for (const state of statesPassed<ProfileState>(wayOntoDevice, profileState, to)) {
      service.db.run(
        "update esims set profileState = ?, eid = coalesce(eid, ?) where esimReference = ?",
        state,
        eid ?? newEid(),
        esimReference,
      );
      const esim = findEsim(service, esimReference);
      emitOf(service, esim, `esim.${state}`, { eid: esim.eid });
    }
    return findEsim(service, esimReference);
  });
}

/** A fault on the device. */
export interface DeviceFault {
  /** A reason of the specification, or a new one. `download_order_expired` ends the order. */
  readonly reason: string;
  /** The provider's codes and message, in any form. Default: absent. */
  readonly detail?: unknown;
}

/** Emits `esim.faulted`. The device may try again, unless the reason is `download_order_expired`. */
export function faultEsim(service: Service, esimReference: string, { reason, detail }: DeviceFault): Esim {
  return service.db.transaction(() => {
    if (!reason)
      throw new Refused("invalid", 'A fault has no reason. Give it one, such as "download_failed".');
    const esim = findEsim(service, esimReference);
    const operation = reason === "download_order_expired" ? reason : "fault";
    const state = move(profileOnDevice, esim.profileState, operation);
    service.db.run("update esims set profileState = ? where esimReference = ?", state, esimReference);
    emitOf(service, esim, "esim.faulted", { eid: esim.eid ?? undefined, reason, detail });
    return findEsim(service, esimReference);
  });
}
