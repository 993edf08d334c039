import * as z from "zod/mini";
import type { Caller, CallOptions } from "./caller.ts";
import { dataOf, orNull } from "./data-of.ts";

/**
 * The client that the credentials belong to.
 * @experimental
 */
export interface Client {
  /** Its reference. */
  readonly clientReference: string;
  /** Its name, for people. */
  readonly name: string;
  /** The variant of orders that name none. */
  readonly defaultEsimVariant: string | null;
  /** The limits of the client. */
  readonly limits: {
    /** How many profiles the client may hold. Orders are refused beyond it. */
    readonly maxProfiles: number;
  };
}

/** The client itself. */
export interface Account {
  /**
   * The client that the credentials belong to.
   * @experimental
   */
  get(options?: CallOptions): Promise<Client>;
}

const client: z.ZodMiniType<Client> = z.looseObject({
  clientReference: z.string(),
  name: z.string(),
  defaultEsimVariant: orNull(z.string()),
  limits: z.looseObject({ maxProfiles: z.number() }),
});

export function account(caller: Caller): Account {
  return {
    get: (options) =>
      caller.call({ name: "client.get", method: "GET", path: "/management/client" }, options, dataOf(client)),
  };
}
