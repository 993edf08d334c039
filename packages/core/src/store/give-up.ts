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
  /** How many events are dead now. */
  readonly events: number;
  /** How many events that match were left, since a worker handles them. */
  readonly leased: number;
}

const shape: OptionsShape<{ reason: string; by: string | undefined }> = {
  reason: z
    .string()
    .check(z.trim(), z.minLength(1, "expected a reason, for other operators"), z.maxLength(500)),
  by: z.optional(z.string().check(z.maxLength(200))),
};

/** For authors of inboxes. Validates the options. Returns the error of the events, and the step of their histories as JSON. */
export function readGiveUp(options: GiveUpOptions): { readonly error: string; readonly step: string } {
  const { reason, by } = parseOptions("giveUp", shape, options);
  const error = `Given up${by === undefined ? "" : ` by ${by}`}: ${reason}`;
  return { error, step: encodeStep("given_up", by ?? null, reason) };
}
