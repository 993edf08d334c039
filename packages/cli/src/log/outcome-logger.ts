import type { Logger } from "@esim-webhooks/core";
import { maskText } from "../masking/mask-text.ts";
import type { Output } from "../program/output.ts";
import { printable, printableJson } from "../program/printable.ts";

type Level = "debug" | "info" | "warn" | "error";
type Fields = Readonly<Record<string, unknown>>;

/**
 * Prints what becomes of deliveries and events, and what handlers log, as it happens: a line for people on a terminal,
 * JSON lines elsewhere or with `json`.
 */
export function outcomeLogger(output: Output, { json = false }: { json?: boolean | undefined } = {}): Logger {
  const write = json || !output.isTerminal ? jsonLine : prettyLine;
  const withBindings = (bindings: Fields): Logger => {
    const at = (level: Level) => (fields: Fields, message: string) => {
      const isText = typeof fields === "string"; // pino takes a message alone as well
      const all = isText ? bindings : { ...bindings, ...fields };
      output.data(write(output, level, all, isText ? String(fields) : message));
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

function jsonLine(_output: Output, level: Level, { err, ...fields }: Fields, msg: string): string {
  const error = err === undefined ? {} : { err: { ...codeOf(err), message: messageOf(err) } };
  return printableJson({ time: new Date().toISOString(), level, ...fields, ...error, msg }, bigintAsText);
}

const marks = {
  debug: ["·", "dim"],
  info: ["✔", "green"],
  warn: ["!", "yellow"],
  error: ["✘", "red"],
} as const;

/** The outcome, the event and what else is known: `12:00:01 ✔ stored  esim.faulted  msg_1  key:1a2b3c4d`. */
function prettyLine(output: Output, level: Level, fields: Fields, msg: string): string {
  const { outcome, type, id, source, err, issues, ...rest } = fields;
  const [mark, style] = marks[level];
  const what = typeof outcome === "string" ? outcome : msg;
  const notes = [
    ...(source === undefined || source === "default" ? [] : [source]),
    ...Object.entries(rest).map(([name, value]) =>
      name === "key" || name === "reason" ? value : `${name} ${inWords(value)}`,
    ),
    ...(Array.isArray(issues) ? [`wrong: ${issues.join(", ")}`] : []),
    ...(err === undefined ? [] : [[...Object.values(codeOf(err)), messageOf(err)].join(": ")]),
  ];
  const columns = [
    output.style("dim", new Date().toTimeString().slice(0, 8)),
    output.style(style, `${mark} ${printable(what).padEnd(14)}`),
    ...[type, id].filter((part) => part !== undefined).map(printable),
    output.style("dim", notes.map(printable).join("  ")),
  ];
  return columns.join("  ").trimEnd();
}

function inWords(value: unknown): string {
  return typeof value === "object" ? printableJson(value, bigintAsText) : String(value);
}

function codeOf(err: unknown): { code?: string } {
  const code = typeof err === "object" && err !== null && "code" in err ? err.code : undefined;
  return typeof code === "string" ? { code } : {};
}

/** A handler's message may name a person. */
function messageOf(err: unknown): string {
  return maskText(err instanceof Error ? err.message : String(err));
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
