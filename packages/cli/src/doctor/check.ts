import type { TroubleCode } from "@esim-webhooks/core/health";
import { maskSecrets } from "@esim-webhooks/core/masking";
import { messageWithCause } from "../program/error-text.ts";
import { errorCodeOf } from "../program/exit-code.ts";

/** The result of one check. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** Present if the check is ok, but may be a sign of a problem. It does not make `doctor` end with 3. */
  readonly warning?: true;
  /** The finding, or the problem and its remedy. Contains no secret. */
  readonly message: string;
  /** The code of the error or of the trouble, if it has one. */
  readonly code?: string;
}

export function passed(name: string, message: string): Check {
  return { name, ok: true, message };
}

export function warned(name: string, message: string, code?: TroubleCode): Check {
  return { name, ok: true, warning: true, message: maskSecrets(message), ...(code && { code }) };
}

export function failed(name: string, message: string, code?: TroubleCode): Check {
  return { name, ok: false, message: maskSecrets(message), ...(code && { code }) };
}

/** Runs `look`. An error that it throws becomes a failed check. */
export async function check(name: string, look: () => Promise<Check> | Check): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    const code = errorCodeOf(error);
    return { ...failed(name, messageWithCause(error)), ...(code && { code }) };
  }
}
