import { esimCatalog } from "@esim-webhooks/core";
import { driftText, readDrift } from "@esim-webhooks/core/drift";
import { findDriftState, hasDriftState } from "../set-up/drift-state.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { type Check, passed, warned } from "./check.ts";

const mostShown = 5;

/** Warns while there is a finding of drift that is not acknowledged. */
export async function checkDrift(setUp: SetUp): Promise<Check> {
  if (!hasDriftState(setUp)) {
    return passed("drift", "not looked at: the config has its own target or store, and no state next to it");
  }
  const open = await findDriftState(setUp);
  if (open === undefined) return passed("drift", "no delivery was seen yet");
  try {
    const seen = await readDrift(open.state, setUp.catalog ?? esimCatalog);
    const found = seen.flatMap(({ type, findings }) => findings.map((finding) => driftText(type, finding)));
    if (found.length === 0) {
      const deliveries = seen.reduce((sum, each) => sum + each.seen, 0);
      return passed("drift", `nothing new in ${counted(deliveries, "delivery", "deliveries")}`);
    }
    const shown = found.slice(0, mostShown).join("; ");
    const more = found.length > mostShown ? `; and ${found.length - mostShown} more` : "";
    return warned(
      "drift",
      `${shown}${more}. Check your handlers, and then: esim-webhooks events drift --acknowledge`,
    );
  } finally {
    await open.close();
  }
}
