import { because } from "../program/error-text.ts";
import { errorCodeOf } from "../program/exit-code.ts";

/** What the doctor found out about one thing. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** How it is, or what is wrong and how to mend it. Holds no secret. */
  readonly message: string;
  /** The code of what is wrong, if it has one. */
  readonly code?: string;
}

export function fine(name: string, message: string): Check {
  return { name, ok: true, message };
}

export function wrong(name: string, message: string): Check {
  return { name, ok: false, message };
}

/** What `look` finds out; when it throws, that is what is wrong. */
export async function check(name: string, look: () => Promise<Check> | Check): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const code = errorCodeOf(error);
    return { ...wrong(name, `${message}${because(error)}`), ...(code && { code }) };
  }
}
