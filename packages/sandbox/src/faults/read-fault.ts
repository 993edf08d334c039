import { suggest } from "@esim-webhooks/core/kit";
import { problemsOf } from "../base/problems.ts";
import { Refused } from "../base/refused.ts";
import { type Fault, faultKinds, faultSchema } from "./fault.ts";

/** Throws `Refused("invalid")` for what is no fault, with every problem in its message. */
export function readFault(given: unknown): Fault {
  const kind = (given as { kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== "string" || !(faultKinds as readonly string[]).includes(kind)) {
    throw new Refused(
      "invalid",
      `There is no fault of kind ${JSON.stringify(kind) ?? "undefined"}. ${suggest(String(kind), faultKinds)}`,
    );
  }
  const read = faultSchema.safeParse(given);
  if (read.success) return read.data;
  throw new Refused("invalid", `The fault "${kind}" cannot be right: ${problemsOf(read.error)}. Correct it.`);
}
