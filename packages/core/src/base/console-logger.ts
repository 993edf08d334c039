import { hasColours } from "./colours.ts";
import { type LineStyle, lineLogger, prettyLine } from "./line-logger.ts";
import type { Logger } from "./logger.ts";

/**
 * Makes a logger for people: it prints each line to the console, as `esim-webhooks serve` does in a terminal:
 * `12:00:01  ✔ processed  esim.faulted  msg_1  key:1a2b3c4d  12 ms`. The stack and causes of an error follow on further lines. Secrets are
 * masked in every line, and what looks like personal data in errors and reasons. Debug lines are dropped. FORCE_COLOR and NO_COLOR
 * decide whether lines have colours, else the terminal does.
 */
export function consoleLogger(): Logger {
  const onOutput = prettyLine(colouredFor("stdout"));
  const onError = prettyLine(colouredFor("stderr"));
  return lineLogger(
    (level, fields, message) => (level === "info" ? onOutput : onError)(level, fields, message),
    (line, level) => console[level](line),
  );
}

const colours = { dim: [2, 22], green: [32, 39], yellow: [33, 39], red: [31, 39] } as const;

/** Returns the line style of a stream: one of the two streams may be a terminal while the other one is a file. */
function colouredFor(stream: "stdout" | "stderr"): LineStyle {
  return (style, text) => {
    const [begin, end] = colours[style];
    return hasColours(process[stream] ?? {}, process.env) ? `\u001b[${begin}m${text}\u001b[${end}m` : text;
  };
}
