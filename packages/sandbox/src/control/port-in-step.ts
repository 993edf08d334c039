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
export interface PortInStepDetails extends PortInReason {
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

export type PortInStep = keyof typeof steps;

export const portInSteps: readonly PortInStep[] = Object.keys(steps) as PortInStep[];

/** Takes a step of the eSIM's newest port-in request. Throws `Refused`: `not_found` without one, `illegal_transition`. */
export function takePortInStep(
  service: Service,
  esimReference: string,
  step: PortInStep,
  details: PortInStepDetails = {},
): void {
  const [newest] = portInsOf(service, esimReference);
  if (newest === undefined) {
    throw new Refused("not_found", `The eSIM ${esimReference} has no port-in request. Create one first.`);
  }
  const take: Step = steps[step];
  take(service, newest.portInRequestReference, details);
}
