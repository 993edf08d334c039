import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { move, type StateMachine } from "../base/state-machine.ts";
import { emitOf, findEsim } from "../esim/esim.ts";

export type PackageStatus = "active" | "ended";

export const packageOnEsim: StateMachine<PackageStatus, "end"> = {
  thing: "The package",
  moves: { active: { end: "ended" }, ended: {} },
};

/** One instance of a plan on an eSIM. */
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

/** @param reason as the event tells it: "removed" when the eSIM was suspended or terminated, else any word */
export function endPackage(service: Service, packageReference: string, reason: string): Package {
  return service.db.transaction(() => {
    const found = findPackage(service, packageReference);
    const status = move(packageOnEsim, found.status, "end");
    service.db.run("update packages set status = ? where packageReference = ?", status, packageReference);
    return emitOfPackage(service, packageReference, "package.ended", { reason });
  });
}

function findPackage(service: Service, packageReference: string): Package {
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

/** Emits an event of the package as it is now, and returns that. */
export function emitOfPackage(
  service: Service,
  packageReference: string,
  type: string,
  data: object = {},
): Package {
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
