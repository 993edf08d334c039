import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import type { CallFault } from "../../base/fault.ts";
import type { KeyInUse } from "./idempotency-keys.ts";

/** The values that the middlewares of a call pass on to the next ones. */
export interface Environment {
  readonly Bindings: HttpBindings;
  readonly Variables: {
    /** The error statuses of the call for which a body is specified: a problem object. */
    statedProblems: readonly number[];
    /** The client whose token the call has. */
    clientReference: string;
    /** The idempotency key of the call, if it has one. */
    idempotencyKey: KeyInUse | undefined;
    /** The fault that strikes the call. */
    fault: CallFault | undefined;
  };
}

export type CallContext = Context<Environment>;
export type Middleware = MiddlewareHandler<Environment>;
