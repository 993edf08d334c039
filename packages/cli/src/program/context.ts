import { resolve } from "node:path";
import { WriteStream } from "node:tty";
import { styleText } from "node:util";
import { maskSecrets } from "@esim-webhooks/core/masking";
import type { CommandContext } from "@stricli/core";
import { describeError } from "./error-text.ts";
import { printableJson, printableLines } from "./printable.ts";

/**
 * The part of the process that commands use: the real one, or one that a test makes. A command that finds a problem sets
 * `exitCode`. `on` is for SIGINT, SIGTERM and `warning`.
 */
export type CliProcess = Pick<
  NodeJS.Process,
  | "stdin"
  | "stdout"
  | "stderr"
  | "env"
  | "exit"
  | "on"
  | "off"
  | "removeAllListeners"
  | "execPath"
  | "getuid"
  | "version"
> & { exitCode?: number };

/** The `this` of every command. */
export interface CliContext extends CommandContext, CliSurroundings {
  readonly process: CliProcess;
  readonly output: Output;
  /** The clean stop of what is running, for `stopCleanly`. */
  readonly running: { beginStop?: (() => void) | undefined };
}

/** All that a run of the program reads and changes. */
export interface CliSurroundings {
  readonly process: CliProcess;
  /** The folder of relative paths. Empty: the working directory of the process, so that messages show paths as they were written. */
  readonly cwd: string;
  /** Imports a config file, by its URL. Where a process runs several commands, again for each: a command closes its config's inbox. */
  importConfig(url: string): Promise<{ readonly default?: unknown }>;
}

export function createContext(surroundings: CliSurroundings): CliContext {
  return { ...surroundings, output: createOutput(surroundings.process), running: {} };
}

/** A path that the user wrote, as the file system finds it. */
export function pathIn({ cwd }: Pick<CliContext, "cwd">, path: string): string {
  return cwd === "" ? path : resolve(cwd, path);
}

type Style = Parameters<typeof styleText>[0];

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
  /** An error as text, as `describeError` has it. */
  describe(error: unknown): string;
}

export function createOutput({ stdout, stderr, env }: Pick<CliProcess, "stdout" | "stderr" | "env">): Output {
  return {
    isTerminal: stdout.isTTY === true,
    data: (line) => void stdout.write(`${printableLines(line)}\n`),
    json: (value) => void stdout.write(`${printableJson(value)}\n`),
    note: (line) => void stderr.write(`${printableLines(maskSecrets(line))}\n`),
    log: (line) => void stderr.write(`${printableLines(line)}\n`),
    style: (style, text) => (hasColours(stdout, env) ? styleText(style, text, unchecked) : text),
    styleNote: (style, text) => (hasColours(stderr, env) ? styleText(style, text, unchecked) : text),
    describe: (error) => describeError(error, env),
  };
}

const unchecked = { validateStream: false };

/** Whether the stream shows colours, by what it is and by NO_COLOR, FORCE_COLOR and others. */
function hasColours(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  if (!stream.isTTY && env["FORCE_COLOR"] === undefined) return false;
  return WriteStream.prototype.getColorDepth.call(stream, env) > 2;
}
