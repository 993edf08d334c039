import * as z from "zod";
import type { Switches } from "../../base/switches.ts";
import { findEsimOf } from "../../esim/esim.ts";
import { allocateNumber, newNumberSchema } from "../../number/allocate-number.ts";
import { numberRecord, numberSchema } from "../../number/number.ts";
import type { AddOperation } from "../call/operation.ts";

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
