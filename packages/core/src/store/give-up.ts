import * as z from "zod/mini";
import { type OptionsShape, parseOptions } from "../base/options.ts";
import { encodeStep } from "./history.ts";

/** Options of `InboxAdmin.giveUp`. */
export interface GiveUpOptions {
  /** Why, for other operators: 1 to 500 characters. It is in the error of the dead events. */
  reason: string;
  /** Who gives up, for other operators: at most 200 characters. Default: no name. */
  by?: string;
}

/** The result of `InboxAdmin.giveUp`. */
export interface GivenUp {
  /** How many events became dead. */
  readonly events: number;
  /** How many other events match, but are leased to a worker, and so did not change. */
  readonly leased: number;
}

const shape: OptionsShape<{ reason: string; by: string | undefined }> = {
  reason: z
    .string()
    .check(z.trim(), z.minLength(1, "expected a reason, for other operators"), z.maxLength(500)),
  by: z.optional(z.string().check(z.maxLength(200))),
};

/** For authors of inboxes. Returns the error of the given-up events, and the step of their histories as JSON. Throws `invalid_option`. */
export function readGiveUp(options: GiveUpOptions): { readonly error: string; readonly step: string } {
  const { reason, by } = parseOptions("giveUp", shape, options);
  const error = `Given up${by === undefined ? "" : ` by ${by}`}: ${reason}`;
  return { error, step: encodeStep("given_up", by ?? null, reason) };
}
