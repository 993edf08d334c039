/** The values of FORCE_COLOR that switch colours on, as Node.js reads them. */
const forced = ["", "1", "true", "2", "3"];

/** The part of an output stream that shows whether it has colours. */
export interface ColourStream {
  /** Whether it is a terminal. */
  readonly isTTY?: boolean;
  /** Returns how many bits the terminal has for a colour. */
  getColorDepth?(env?: object): number;
}

/** Whether text for this stream has colours: as FORCE_COLOR and NO_COLOR say, else on a terminal that has colours. */
export function hasColours(stream: ColourStream, env: Readonly<Record<string, string | undefined>>): boolean {
  const { FORCE_COLOR, NO_COLOR = "" } = env;
  if (FORCE_COLOR !== undefined) return forced.includes(FORCE_COLOR);
  if (NO_COLOR !== "") return false; // also on a stream that does not report its colour depth
  return stream.isTTY === true && (stream.getColorDepth?.(env) ?? 4) > 2;
}
