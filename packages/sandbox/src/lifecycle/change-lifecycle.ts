import type { Service } from "../base/service.ts";
import { move } from "../base/state-machine.ts";
import { type Esim, emitOf, findEsim } from "../esim/esim.ts";
import { type LifecycleOperation, type LifecycleStatus, lifecycle } from "../esim/states.ts";
import { changeNumbersOf } from "../number/number.ts";
import { endPackage, packagesOf } from "./package.ts";

const eventTypes: Readonly<Record<LifecycleStatus, string>> = {
  active: "esim.lifecycle.activated",
  suspended: "esim.lifecycle.suspended",
  terminated: "esim.lifecycle.terminated",
};

/** Before an eSIM is suspended or terminated its active packages are ended, each with an event. */
export function changeLifecycle(
  service: Service,
  esimReference: string,
  operation: LifecycleOperation,
): Esim {
  return service.db.transaction(() => {
    const esim = findEsim(service, esimReference);
    const lifecycleStatus = move(lifecycle, esim.lifecycleStatus, operation);
    for (const { packageReference, status } of packagesOf(service, esimReference)) {
      if (status === "active") endPackage(service, packageReference, "removed");
    }
    changeNumbersOf(service, esimReference, operation === "terminate" ? "release" : operation);
    service.db.run(
      "update esims set lifecycleStatus = ? where esimReference = ?",
      lifecycleStatus,
      esimReference,
    );
    const previousLifecycleStatus = esim.lifecycleStatus;
    emitOf(service, esim, eventTypes[lifecycleStatus], { lifecycleStatus, previousLifecycleStatus });
    return findEsim(service, esimReference);
  });
}
