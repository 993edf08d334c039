import * as z from "zod";
import type { Switches } from "../../base/switches.ts";
import { esimRecord, esimSchema, findEsimOf } from "../../esim/esim.ts";
import { lifecycleOperations } from "../../esim/states.ts";
import { changeLifecycle } from "../../lifecycle/lifecycle.ts";
import { esimOrderSchema, orderEsim } from "../../lifecycle/order-esim.ts";
import { allocateNumber, newNumberSchema } from "../../number/allocate-number.ts";
import { createPortIn } from "../../number/create-port-in.ts";
import { newPortInSchema } from "../../number/new-port-in.ts";
import { numberRecord, numberSchema } from "../../number/number.ts";
import { portInRecord, portInSchema, portInsOf } from "../../number/port-in.ts";
import type { AddOperation } from "../call/operation.ts";

const params = z.object({ profileReference: z.string(), esimReference: z.string() });
const orderedEsimSchema = esimSchema.extend({ portIn: portInSchema.optional() }).meta({ id: "OrderedEsim" });

/** Ordering eSIMs, and their life on the network. */
export function addEsimOperations(add: AddOperation, switches: Switches): void {
  add({
    method: "post",
    path: "/esims",
    summary: "Order an eSIM with a profile of its own",
    body: esimOrderSchema,
    status: 201,
    answer: z.object({ data: orderedEsimSchema }),
    errors: [400, 409, Number(switches.maxProfilesStatus)],
    problems: [409],
    run({ service, clientReference, body }) {
      const esim = orderEsim(service, clientReference, body);
      const [portIn] = portInsOf(service, esim.esimReference);
      return { data: { ...esimRecord(esim), ...(portIn && { portIn: portInRecord(portIn) }) } };
    },
  });
  add({
    method: "patch",
    path: "/profiles/{profileReference}/esims/{esimReference}/lifecycle",
    summary: "Suspend, reactivate or terminate an eSIM on the network",
    params,
    body: z.object({ operation: z.enum(lifecycleOperations) }).meta({ id: "LifecycleChange" }),
    status: 200,
    answer: z.object({ data: esimSchema }),
    errors: [400, 403, 404, Number(switches.illegalTransition)],
    run({ service, clientReference, params, body }) {
      findEsimOf(service, clientReference, params.profileReference, params.esimReference);
      return { data: esimRecord(changeLifecycle(service, params.esimReference, body.operation)) };
    },
  });
}

/** Porting a number into an eSIM. */
export function addPortInOperations(add: AddOperation): void {
  add({
    method: "post",
    path: "/profiles/{profileReference}/esims/{esimReference}/port-ins",
    summary:
      "Port a number into an eSIM that is not activated; also corrects a request that ended without success",
    experimental: true,
    params: z.object({ profileReference: z.string(), esimReference: z.string() }),
    body: newPortInSchema,
    status: 201,
    answer: z.object({ data: portInSchema }),
    errors: [400, 403, 404, 409],
    problems: [400, 409],
    run({ service, clientReference, params, body }) {
      findEsimOf(service, clientReference, params.profileReference, params.esimReference);
      return { data: portInRecord(createPortIn(service, params.esimReference, body)) };
    },
  });
}

/** Phone numbers for eSIMs. */
export function addNumberOperations(add: AddOperation, switches: Switches): void {
  add({
    method: "post",
    path: "/number/{profileReference}/allocate",
    summary: "Allocate a new phone number to an eSIM",
    params: z.object({ profileReference: z.string() }),
    body: newNumberSchema,
    status: 200,
    answer: z.object({ data: numberSchema }),
    errors: [400, 403, 404, Number(switches.illegalTransition)],
    run({ service, clientReference, params, body }) {
      findEsimOf(service, clientReference, params.profileReference, body.esimReference);
      return { data: numberRecord(allocateNumber(service, body)) };
    },
  });
}
