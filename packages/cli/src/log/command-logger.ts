import type { Logger } from "@esim-webhooks/core";
import { jsonLine, type LineStyle, lineLogger, prettyLine, printable } from "@esim-webhooks/core/log-lines";
import type { Output } from "../program/context.ts";

/** Where log lines are written, and in which form. */
export interface LogLines {
  /** Gets lines that are masked. */
  write(line: string): void;
  /** JSON lines instead of lines for people. */
  readonly json: boolean;
  /** Colours the lines for people. */
  readonly style: LineStyle;
}

/** Log lines on standard output: for commands whose data are their log lines. */
export function dataLines(output: Output, { json = false }: { json?: boolean | undefined }): LogLines {
  return {
    write: (line) => output.data(output.mask(line)),
    json: json || !output.isTerminal,
    style: output.style,
  };
}

/** The logger of a command. It prints the outcomes of deliveries and events, and the lines that handlers log, without secrets. */
export function commandLogger({ write, json, style }: LogLines): Logger {
  return lineLogger(json ? jsonLine : prettyLine(style), write);
}

/** Returns a logger for a command that takes minutes. It prints each step, warning and error as a line on standard error. */
export function stepLogger(output: Output): Logger {
  const note = (fields: { readonly err?: unknown }, message: string) =>
    output.note(
      [printable(message), ...(fields.err === undefined ? [] : [output.describe(fields.err)])].join(" "),
    );
  return { debug: () => {}, info: note, warn: note, error: note };
}

/** Returns a logger that prints each warning and error once, on standard error. */
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
