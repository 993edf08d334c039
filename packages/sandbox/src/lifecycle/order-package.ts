import { newPackageReference } from "../base/references.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { findEsim } from "../esim/esim.ts";
import { changeLifecycle } from "./change-lifecycle.ts";
import { emitOfPackage, type Package } from "./package.ts";

/** The package is active at once. A suspended eSIM is reactivated by it. */
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
