/** The part of Lambda's context that is used. */
export interface LambdaContext {
  /** How long until the function's timeout, in ms. */
  getRemainingTimeInMillis(): number;
}

/** The time that the answer needs to leave the function, and an aborted handler to clean up. */
const marginMs = 500;

/** How long an invocation may still work, in ms. Zero or less: there is no time left. Undefined outside Lambda, where it is unknown. */
export function remainingMs(context: LambdaContext | undefined): number | undefined {
  const leftMs = context?.getRemainingTimeInMillis?.();
  return leftMs === undefined ? undefined : leftMs - marginMs;
}
