import { newPackageReference } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { move, type StateMachine } from "../base/state-machine.ts";
import { type Esim, emitOf, findEsim } from "../esim/esim.ts";
import { type LifecycleOperation, type LifecycleStatus, lifecycle } from "../esim/states.ts";
import { changeNumbersOf } from "../number/number.ts";

const eventTypes: Readonly<Record<LifecycleStatus, string>> = {
  active: "esim.lifecycle.activated",
  suspended: "esim.lifecycle.suspended",
  terminated: "esim.lifecycle.terminated",
};

/** Suspends, reactivates or terminates an eSIM. Before it is suspended or terminated, its active packages are ended, each with an event. */
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

export type PackageStatus = "active" | "ended";

const packageOnEsim: StateMachine<PackageStatus, "end"> = {
  thing: "The package",
  moves: { active: { end: "ended" }, ended: {} },
};

/** A package: an instance of a plan on an eSIM. */
export interface Package {
  readonly packageReference: string;
  readonly esimReference: string;
  readonly planReference: string;
  readonly status: PackageStatus;
}

/** The packages that the eSIM has or had, the oldest first. */
export function packagesOf(service: Service, esimReference: string): Package[] {
  return service.db.all<Package>(
    "select * from packages where esimReference = ? order by rowid",
    esimReference,
  );
}

/** @param reason as in the event: "removed" if the eSIM is being suspended or terminated, else any word */
export function endPackage(service: Service, packageReference: string, reason: string): Package {
  return service.db.transaction(() => {
    const found = findPackage(service, packageReference);
    const status = move(packageOnEsim, found.status, "end");
    service.db.run("update packages set status = ? where packageReference = ?", status, packageReference);
    return emitOfPackage(service, packageReference, "package.ended", { reason });
  });
}

/** Throws `not_found` if there is none. */
export function findPackage(service: Service, packageReference: string): Package {
  const found = service.db.get<Package>(
    "select * from packages where packageReference = ?",
    packageReference,
  );
  if (found) return found;
  throw new Refused(
    "not_found",
    `There is no package ${packageReference}. Take the reference of an ordered one.`,
  );
}

/** Emits an event of the package as it is now, and returns the package. */
function emitOfPackage(service: Service, packageReference: string, type: string, data: object = {}): Package {
  const found = findPackage(service, packageReference);
  const { planReference, status } = found;
  emitOf(service, findEsim(service, found.esimReference), type, {
    packageReference,
    planReference,
    status,
    ...data,
  });
  return found;
}

/** Adds a package, which is active immediately. Reactivates a suspended eSIM first. */
export function orderPackage(
  service: Service,
  esimReference: string,
  planReference = "PLAN-1GB-30D",
): Package {
  return service.db.transaction(() => {
    const { lifecycleStatus } = findEsim(service, esimReference);
    if (lifecycleStatus === "terminated") {
      throw new Refused(
        "illegal_transition",
        "The eSIM is terminated: it takes no package. Order another eSIM.",
      );
    }
    if (lifecycleStatus === "suspended") changeLifecycle(service, esimReference, "reactivate");
    const packageReference = newPackageReference();
    service.db.run(
      "insert into packages (packageReference, esimReference, planReference, status) values (?, ?, ?, 'active')",
      packageReference,
      esimReference,
      planReference,
    );
    emitOfPackage(service, packageReference, "package.created");
    return emitOfPackage(service, packageReference, "package.activated");
  });
}
