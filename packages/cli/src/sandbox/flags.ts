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
