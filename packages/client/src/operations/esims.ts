import * as z from "zod/mini";
import { checkRequest } from "../base/check-request.ts";
import type { Caller, ChangeOptions } from "./caller.ts";
import { path } from "./path.ts";

/** The documented fields of an order. An order may need other fields, which are sent unchanged. */
export interface OrderEsimRequest {
  /** A variant of `catalog.esimVariants`. Default: the client's `defaultEsimVariant`. */
  readonly esimVariant?: string | undefined;
  /** Your own id of the profile. */
  readonly externalProfileId?: string | undefined;
  /** Ports a number in before the eSIM can become active. Its fields are not documented. */
  readonly portIn?: Readonly<Record<string, unknown>> | undefined;
  readonly [field: string]: unknown;
}

/** Orders eSIMs. */
export interface Esims {
  /**
   * Orders an eSIM; `esim.assigned` follows. Resolves to the service's answer, unchecked: the form of the answer is not documented. On `conflict`,
   * read `error.problemDetails.detail` before you order again: the `externalProfileId` may belong to another profile.
   */
  order(request?: OrderEsimRequest, options?: ChangeOptions): Promise<unknown>;
}

/** A change of the network service of an eSIM. `terminate` is final. */
export type LifecycleOperation = "suspend" | "reactivate" | "terminate";

/**
 * Changes whether the network serves the line of an eSIM; an `esim.lifecycle.*` event follows. `suspend` and `terminate` first end
 * the active packages of the line, and `terminate` is final. Resolves to the service's answer, unchecked: the form of the answer is not
 * documented.
 */
export type ChangeLifecycle = (
  profileReference: string,
  esimReference: string,
  operation: LifecycleOperation,
  options?: ChangeOptions,
) => Promise<unknown>;

const optionalText = z.optional(z.string());
const orderRequest: z.ZodMiniType<OrderEsimRequest> = z.looseObject({
  esimVariant: optionalText,
  externalProfileId: optionalText,
  portIn: z.optional(z.record(z.string(), z.unknown())),
});
const lifecycleRequest: z.ZodMiniType<{ readonly operation: LifecycleOperation }> = z.object({
  operation: z.enum(["suspend", "reactivate", "terminate"]),
});

const asItIs = (json: unknown) => json;

export function esims(caller: Caller): Esims {
  return {
    async order(request = {}, options) {
      const name = "esims.order";
      const body = checkRequest(name, orderRequest, request);
      return caller.call({ name, method: "POST", path: "/esims", body }, options, asItIs);
    },
  };
}

export function changeLifecycle(caller: Caller): ChangeLifecycle {
  return async (profileReference, esimReference, operation, options) => {
    const name = "lifecycle";
    const body = checkRequest(name, lifecycleRequest, { operation });
    const at = path`/profiles/${profileReference}/esims/${esimReference}/lifecycle`;
    return caller.call({ name, method: "PATCH", path: at, body }, options, asItIs);
  };
}
