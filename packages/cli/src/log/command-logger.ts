import type { Logger } from "@esim-webhooks/core";
import { maskField, maskSecrets, maskText } from "@esim-webhooks/core/masking";
import type { Output } from "../program/context.ts";
import { printable, printableJson } from "../program/printable.ts";
import { detailsOf, headOf, shownError } from "../program/shown-error.ts";

type Level = "debug" | "info" | "warn" | "error";
type Fields = Readonly<Record<string, unknown>>;

/** Where log lines are written, and in which form. */
export interface LogLines {
  /** Gets lines that are masked. */
  write(line: string): void;
  /** JSON lines instead of lines for people. */
  readonly json: boolean;
  /** Colours the lines for people. */
  readonly style: Output["style"];
}

/** Log lines on standard output: for commands that print nothing else there. */
export function dataLines(output: Output, { json = false }: { json?: boolean | undefined }): LogLines {
  return {
    write: (line) => output.data(output.mask(line)),
    json: json || !output.isTerminal,
    style: output.style,
  };
}

/** The logger of a command. It prints the outcomes of deliveries and events, and what handlers log, without the secrets in it. */
export function commandLogger({ write, json, style }: LogLines): Logger {
  const lineOf = json ? jsonLine : prettyLine;
  const withBindings = (bindings: Fields): Logger => {
    const at = (level: Level) => (fields: Fields, message: string) => {
      const isText = typeof fields === "string"; // as with pino, the fields can be left out
      const all = isText ? bindings : { ...bindings, ...fields };
      write(lineOf(style, level, withMaskedTexts(all), isText ? String(fields) : message));
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

/** Each step of a command that takes minutes as a line on standard error, and each warning of the library. */
export function stepLogger(output: Output): Logger {
  const note = (fields: { readonly err?: unknown }, message: string) =>
    output.note(
      [printable(message), ...(fields.err === undefined ? [] : [output.describe(fields.err)])].join(" "),
    );
  return { debug: () => {}, info: note, warn: note, error: note };
}

/** Each warning of the library on standard error, once. */
export function warningLogger(output: Output): Logger {
  const steps = stepLogger(output);
  const noted = new Set<string>();
  const note: Logger["warn"] = (fields, message) => {
    if (noted.has(message)) return;
    noted.add(message);
    steps.warn(fields, message);
  };
  return { debug: () => {}, info: () => {}, warn: note, error: note };
}

/** The texts that a handler's error or its discard may have put there. */
function withMaskedTexts(fields: Fields): Fields {
  const texts = ["cause", "reason"].filter((name) => typeof fields[name] === "string");
  return { ...fields, ...Object.fromEntries(texts.map((name) => [name, maskText(String(fields[name]))])) };
}

function jsonLine(_style: LogLines["style"], level: Level, { err, ...fields }: Fields, msg: string): string {
  const error = err === undefined ? {} : { err: shownError(err) };
  return printableJson({ time: new Date().toISOString(), level, ...fields, ...error, msg }, shownValue);
}

const marks = {
  debug: ["·", "dim"],
  info: ["✔", "green"],
  warn: ["!", "yellow"],
  error: ["✘", "red"],
} as const;

/**
 * The outcome, the event and the other fields: `12:00:01  ✔ stored  esim.faulted  msg_1  key:1a2b3c4d`. An error's stack and
 * its causes follow on lines of their own.
 */
function prettyLine(style: LogLines["style"], level: Level, fields: Fields, msg: string): string {
  const { outcome, type, id, source, err, issues, durationMs, cause, ...rest } = fields;
  const error = err === undefined ? undefined : shownError(err);
  const [mark, colour] = marks[level];
  const what = typeof outcome === "string" ? outcome : msg;
  const notes = [
    ...(source === undefined || source === "default" ? [] : [source]),
    ...Object.entries(rest).map(([name, value]) =>
      name === "key" || name === "reason" ? value : `${name} ${textOf(name, value)}`,
    ),
    ...(Array.isArray(issues) ? [`wrong: ${issues.join(", ")}`] : []),
    ...(typeof durationMs === "number" ? [`${Math.round(durationMs)} ms`] : []),
    ...(error === undefined ? [cause ?? []].flat() : [headOf(error)]), // the cause repeats the error's message
  ];
  const columns = [
    style("dim", new Date().toTimeString().slice(0, 8)),
    style(colour, `${mark} ${shownText(what).padEnd(14)}`),
    ...[type, id].filter((part) => part !== undefined).map(shownText),
    style("dim", notes.map(shownText).join("  ")),
  ];
  const details = error === undefined ? [] : detailsOf(error).map((line) => style("dim", printable(line)));
  return [columns.join("  ").trimEnd(), ...details].join("\n");
}

function shownText(text: unknown): string {
  return printable(maskSecrets(String(text)));
}

function textOf(name: string, value: unknown): string {
  return typeof value === "object" ? printableJson(value, shownValue) : String(shownValue(name, value));
}

/** A value of JSON: no secret, and no bigint, which JSON lacks. */
function shownValue(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return typeof value === "string" ? maskField(name, value) : value;
}
