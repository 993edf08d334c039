import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { updateBalance } from "../esim/balance.ts";
import { deleteEsim, disableEsim, downloadEsim, enableEsim, faultEsim, installEsim } from "../esim/device.ts";
import { registerOnNetwork } from "../esim/network.ts";
import { lifecycleOperations } from "../esim/states.ts";
import { changeLifecycle, orderPackage } from "../lifecycle/lifecycle.ts";
import { createPortIn } from "../number/create-port-in.ts";
import { newPortInSchema } from "../number/new-port-in.ts";
import { portInsOf } from "../number/port-in.ts";
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
} from "../number/port-in-steps.ts";
import { checked } from "./input.ts";

/** The fields that a step of a port-in may need. */
interface PortInStepDetails extends PortInReason {
  /** For `schedule`: the day, such as "2026-12-31". */
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

/** Returns a function that takes a step of the eSIM's newest port-in request. It throws `Refused`: `not_found` without one, `illegal_transition`. */
function takePortInStep(
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

/** @param what names the input in messages. Throws `Refused` */
type EsimOperation = (service: Service, esimReference: string, input: unknown, what: string) => void;

function operation<Schema extends z.ZodType>(
  schema: Schema,
  run: (service: Service, esimReference: string, input: z.output<Schema>) => unknown,
): EsimOperation {
  return (service, esimReference, input, what) => {
    run(service, esimReference, checked(input, schema, what));
  };
}

const nothing = z.strictObject({});
const fault = z.strictObject({ reason: z.string().min(1), detail: z.unknown().optional() });
const network = z
  .strictObject({
    country: z.string().optional(),
    mcc: z.string().optional(),
    mnc: z.string().optional(),
  })
  .refine(
    ({ country, mcc, mnc }) =>
      (mcc === undefined) === (mnc === undefined) && (mcc === undefined) !== (country === undefined),
    'expected either { "country": "NL" } or { "mcc": "204", "mnc": "08" }',
  )
  .transform(({ country, mcc, mnc }) => country ?? `${mcc}-${mnc}`);
const balance = z.strictObject({
  updateType: z.enum(["credit", "debit"]),
  amount: z.number(),
  source: z.enum(["client", "provider"]).exactOptional(),
  reason: z.string().exactOptional(),
  detail: z.string().exactOptional(),
  clientTransactionId: z.string().exactOptional(),
  providerTransactionId: z.string().exactOptional(),
});
const day = z.strictObject({ date: z.iso.date('expected a day such as "2026-12-31"') });
const reason = z.strictObject({ code: z.string().min(1).optional(), message: z.string().optional() });

/** The operations of an eSIM, by their path below `POST /esims/{esimReference}/`. The handle calls them, too, except `network`. */
export const esimOperations = {
  downloaded: operation(z.strictObject({ eid: z.string().min(1).optional() }), (service, esim, { eid }) =>
    downloadEsim(service, esim, eid),
  ),
  installed: operation(nothing, installEsim),
  enabled: operation(nothing, enableEsim),
  disabled: operation(nothing, disableEsim),
  deleted: operation(nothing, deleteEsim),
  fault: operation(fault, faultEsim),
  network: operation(network, registerOnNetwork),
  lifecycle: operation(
    z.strictObject({ operation: z.enum(lifecycleOperations) }),
    (service, esim, { operation }) => changeLifecycle(service, esim, operation),
  ),
  packages: operation(
    z.strictObject({ planReference: z.string().min(1).optional() }),
    (service, esim, { planReference }) => orderPackage(service, esim, planReference),
  ),
  balance: operation(balance, updateBalance),
  "port-in": operation(newPortInSchema, createPortIn),
  "port-in/submit": operation(nothing, takePortInStep("submit")),
  "port-in/approve": operation(nothing, takePortInStep("approve")),
  "port-in/schedule": operation(day, takePortInStep("schedule")),
  "port-in/reject": operation(reason, takePortInStep("reject")),
  "port-in/fail": operation(reason, takePortInStep("fail")),
  "port-in/complete": operation(nothing, takePortInStep("complete")),
  "port-in/cancel": operation(nothing, takePortInStep("cancel")),
  "port-in/confirmCancel": operation(nothing, takePortInStep("confirmCancel")),
  "port-in/abandon": operation(nothing, takePortInStep("abandon")),
} satisfies Record<string, EsimOperation>;

export type EsimOperationName = keyof typeof esimOperations;
