import * as z from "zod";
import { findEsimOf } from "../../esim/esim.ts";
import { createPortIn } from "../../port-in/create-port-in.ts";
import { newPortInSchema } from "../../port-in/new-port-in.ts";
import { portInRecord, portInSchema } from "../../port-in/port-in.ts";
import type { AddOperation } from "../call/operation.ts";

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
