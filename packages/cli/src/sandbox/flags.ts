import { invalidUsage } from "../program/program-error.ts";

/** The flags of `sandbox`, parsed. */
export interface SandboxFlags {
  readonly port?: number;
  readonly controlPort?: number;
  readonly speed?: number;
  readonly clock?: "manual";
  readonly data?: string;
  readonly seed?: number;
  readonly set?: readonly (readonly [name: string, value: string])[];
  readonly json?: boolean;
}

/** Parses `name=value`. Throws `invalid_usage`. */
export function parseSetting(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^(\w+)=(.*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw invalidUsage(`"${text}" is not a switch and its value.`, "Write it as inFlight=423.");
}
