import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { portInsOf } from "../port-in/port-in.ts";
import {
  abandonPortIn,
  approvePortIn,
  cancelPortIn,
  completePortIn,
  confirmCancelPortIn,
  failPortIn,
  type PortInReason,
  rejectPortIn,
  schedulePortIn,
  submitPortIn,
} from "../port-in/port-in-steps.ts";

/** What a step of a port-in may need. */
interface PortInStepDetails extends PortInReason {
  /** Of `schedule`: the day, such as "2026-12-31". */
  readonly date?: string | undefined;
}

type Step = (service: Service, portInRequestReference: string, details: PortInStepDetails) => unknown;

const steps = {
  submit: submitPortIn,
  approve: approvePortIn,
  schedule: (service, reference, { date = "" }) => schedulePortIn(service, reference, date),
  reject: rejectPortIn,
  fail: failPortIn,
  complete: completePortIn,
  cancel: cancelPortIn,
  confirmCancel: confirmCancelPortIn,
  abandon: abandonPortIn,
} satisfies Record<string, Step>;

/** Takes a step of the eSIM's newest port-in request. Throws `Refused`: `not_found` without one, `illegal_transition`. */
export function takePortInStep(
  name: keyof typeof steps,
): (service: Service, esimReference: string, details: PortInStepDetails) => void {
  const take: Step = steps[name];
  return (service, esimReference, details) => {
    const [newest] = portInsOf(service, esimReference);
    if (newest === undefined) {
      throw new Refused("not_found", `The eSIM ${esimReference} has no port-in request. Create one first.`);
    }
    take(service, newest.portInRequestReference, details);
  };
}
