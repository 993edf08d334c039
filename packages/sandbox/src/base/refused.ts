import type * as z from "zod";

/** Why an operation was refused: the API answers with the status that belongs to it. */
export type RefusalCode =
  | "invalid" // an input that is not valid
  | "bad_credentials"
  | "not_found"
  | "not_yours" // belongs to another client
  | "endpoint_cap"
  | "url_taken" // only on the control side
  | "external_profile_taken"
  | "max_profiles"
  | "no_stock"
  | "port_in_not_possible"
  | "illegal_transition"
  | "closed"; // the sandbox was closed

/** An operation that the service refuses. Nothing was changed, unless the code is `closed`. `message` says what is wrong, and how to fix it. */
export class Refused extends Error {
  /** The same for all codes: match on `code`. */
  override readonly name = "Refused";
  /** Why it was refused. Stable, for programs. */
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function sandboxClosed(): Refused {
  return new Refused("closed", "This sandbox is closed. Start another one.");
}

/** The codes of the errors that `startSandbox` throws. What the service refuses is a `Refused`. */
export type SandboxErrorCode =
  | "invalid_option"
  | "cannot_listen"
  /** The folder cannot be used: another sandbox uses it, another version wrote its state, or it cannot be written to. Name another folder. */
  | "unusable_data"
  /** The runtime lacks a module that the sandbox needs, or replaces it. Run it on Node.js 22.18 or newer. */
  | "unsupported_node";

/** Describes the mistakes in a value, field by field: `"url": expected a URL; "eventTypes.0": expected a string`. */
export function problemsOf(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `"${path.join(".")}": ${message}` : message))
    .join("; ");
}
