/** The values of FORCE_COLOR that switch colours on, as Node.js reads them. */
const forced = ["", "1", "true", "2", "3"];

/** Whether text for this stream has colours: as FORCE_COLOR and NO_COLOR say, else on a terminal that has colours. */
export function hasColours(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR } = env;
  if (FORCE_COLOR !== undefined) return forced.includes(FORCE_COLOR);
  return stream.isTTY === true && (stream.getColorDepth?.(env) ?? 4) > 2;
}
