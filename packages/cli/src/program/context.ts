import type * as util from "node:util";
import { maskSecrets } from "@esim-webhooks/core/masking";
import type { CommandContext } from "@stricli/core";
import { printableJson, printableLines } from "./printable.ts";

/** The part of the process that commands use. A command that finds a problem sets `exitCode`. */
export type CliProcess = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr" | "env"> & { exitCode?: number };

/** The `this` of every command. */
export interface CliContext extends CommandContext {
  readonly process: CliProcess;
  readonly output: Output;
}

export function createContext(process: NodeJS.Process): CliContext {
  return { process: process as CliProcess, output: createOutput(process) };
}

type Style = Parameters<typeof util.styleText>[0];

/**
 * The output of a command: data on standard output, everything else on standard error. Nothing that is written here controls the
 * terminal, and no note shows a secret.
 */
export interface Output {
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Writes a line of data. */
  data(line: string): void;
  /** Writes a value as one line of JSON, as data. */
  json(value: unknown): void;
  /** Writes a message to standard error, without the secrets that it may quote. */
  note(line: string): void;
  /** Writes a line to standard error that is masked already, or JSON: only its values can be masked. */
  log(line: string): void;
  /** Text for `data`, with colour where standard output supports it (NO_COLOR, FORCE_COLOR). */
  style(style: Style, text: string): string;
  /** The same for `note`. */
  styleNote(style: Style, text: string): string;
}

export function createOutput({ stdout, stderr }: Pick<NodeJS.Process, "stdout" | "stderr">): Output {
  return {
    isTerminal: stdout.isTTY === true,
    data: (line) => void stdout.write(`${printableLines(line)}\n`),
    json: (value) => void stdout.write(`${printableJson(value)}\n`),
    note: (line) => void stderr.write(`${printableLines(maskSecrets(line))}\n`),
    log: (line) => void stderr.write(`${printableLines(line)}\n`),
    style: (style, text) => styled(style, text, stdout),
    styleNote: (style, text) => styled(style, text, stderr),
  };
}

/** Loads node:util only when there is text to style: importing it takes a tenth of the start-up. */
function styled(style: Style, text: string, stream: NodeJS.WriteStream): string {
  return process.getBuiltinModule("node:util").styleText(style, text, { stream });
}
