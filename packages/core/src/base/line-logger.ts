import type { Logger } from "./logger.ts";
import { maskField, maskSecrets, maskText } from "./masking.ts";
import { printable, printableJson } from "./printable.ts";
import { detailsOf, headOf, shownError } from "./shown-error.ts";

/** The level of a log line. Lines of the level `debug` are dropped. */
export type LineLevel = "info" | "warn" | "error";

/** Returns a log line as text. */
export type LineOf = (level: LineLevel, fields: Readonly<Record<string, unknown>>, message: string) => string;

/** Returns text in a style, or as it is. */
export type LineStyle = (style: "dim" | "green" | "yellow" | "red", text: string) => string;

/**
 * Makes a logger that writes lines of text and drops debug lines.
 * @param lineOf makes the text of each line
 * @param write gets the text
 */
export function lineLogger(lineOf: LineOf, write: (line: string, level: LineLevel) => void): Logger {
  const withBindings = (bindings: Readonly<Record<string, unknown>>): Logger => {
    const at = (level: LineLevel) => (fields: Readonly<Record<string, unknown>>, message: string) => {
      const isText = typeof fields === "string"; // as with pino, the fields can be left out, or be an error
      const given = fields instanceof Error ? { err: fields } : fields;
      const all = isText ? bindings : { ...bindings, ...given };
      write(lineOrMessage(lineOf, level, withMaskedTexts(all), isText ? String(fields) : message), level);
    };
    return {
      debug: () => {},
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (more) => withBindings({ ...bindings, ...more }),
    };
  };
  return withBindings({});
}

/** Returns the line as text, without fields if one cannot be text, such as an object that refers to itself. */
function lineOrMessage(lineOf: LineOf, ...[level, fields, message]: Parameters<LineOf>): string {
  try {
    return lineOf(level, fields, message);
  } catch {
    return lineOf(level, {}, message);
  }
}

/** Masks the texts that come from a handler: the `cause` of its failure, and the `reason` of its discard. */
function withMaskedTexts(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const texts = ["cause", "reason"].filter((name) => typeof fields[name] === "string");
  return { ...fields, ...Object.fromEntries(texts.map((name) => [name, maskText(String(fields[name]))])) };
}

/** Lines of JSON, each with its time, level and message. */
export const jsonLine: LineOf = (level, { err, ...fields }, msg) => {
  const error = err === undefined ? {} : { err: shownError(err) };
  return printableJson({ time: new Date().toISOString(), level, ...fields, ...error, msg }, shownValue);
};

const marks = {
  info: ["✔", "green"],
  warn: ["!", "yellow"],
  error: ["✘", "red"],
} as const;

/**
 * Lines for people: the time, the outcome or else the message, the event and the other fields:
 * `12:00:01  ✔ stored  esim.faulted  msg_1  key:1a2b3c4d`. An error's stack and its causes follow on lines of their own.
 */
export function prettyLine(style: LineStyle): LineOf {
  return (level, fields, msg) => {
    const { outcome, type, id, source, err, issues, durationMs, cause, ...rest } = fields;
    const error = err === undefined ? undefined : shownError(err);
    const [mark, colour] = marks[level];
    const what = typeof outcome === "string" ? outcome : msg;
    const notes = [
      ...(source === undefined || source === "default" ? [] : [source]),
      ...Object.entries(rest).map(([name, value]) =>
        name === "key" || name === "reason" ? value : `${name} ${fieldText(name, value)}`,
      ),
      ...(Array.isArray(issues) ? [`wrong: ${issues.join(", ")}`] : []),
      ...(typeof durationMs === "number" ? [`${Math.round(durationMs)} ms`] : []),
      ...(error === undefined ? [cause ?? []].flat() : [headOf(error)]), // `cause` would repeat the error's message
    ];
    const columns = [
      style("dim", new Date().toTimeString().slice(0, 8)),
      style(colour, `${mark} ${shownText(what).padEnd(14)}`),
      ...[type, id].filter((part) => part !== undefined).map(shownText),
      style("dim", notes.map(shownText).join("  ")),
    ];
    const details = error === undefined ? [] : detailsOf(error).map((line) => style("dim", printable(line)));
    return [columns.join("  ").trimEnd(), ...details].join("\n");
  };
}

function shownText(text: unknown): string {
  return printable(maskSecrets(String(text)));
}

function fieldText(name: string, value: unknown): string {
  return typeof value === "object" ? printableJson(value, shownValue) : String(shownValue(name, value));
}

/** Returns a value for JSON: with secrets masked, and a bigint as text, since JSON has none. */
function shownValue(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return typeof value === "string" ? maskField(name, value) : value;
}
