import type * as util from "node:util";
import { hasColours, printableJson } from "@esim-webhooks/core/log-lines";
import { maskSecrets } from "@esim-webhooks/core/masking";
import type { CommandContext } from "@stricli/core";
import { describeError } from "./error-text.ts";
import { maskOwnSecrets } from "./own-secrets.ts";
import { printableLines } from "./printable-lines.ts";

/**
 * The part of the process that the command line uses: a test passes its own. Relative paths resolve against `cwd()`. SIGINT and
 * SIGTERM begin a clean stop. A command that finds a problem sets `exitCode`.
 */
export type CliProcess = Pick<
  NodeJS.Process,
  | "stdin"
  | "stdout"
  | "stderr"
  | "env"
  | "cwd"
  | "platform"
  | "versions"
  | "execPath"
  | "getuid"
  | "geteuid"
  | "getBuiltinModule"
  | "exit"
  | "on"
  | "off"
  | "removeAllListeners"
> & { exitCode?: number };

/** The parts of a run that are not from its process. */
export interface RunOptions {
  /** Imports the config file at a `file:` URL. Default: as Node.js does, once for each process. */
  readonly importConfig?: (url: string) => Promise<unknown>;
  /** Returns the time in ms since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** The `this` of every command. */
export interface CliContext extends CommandContext, Required<RunOptions> {
  readonly process: CliProcess;
  readonly output: Output;
  /** Functions that run once the command has ended, also by an error. They must not reject. */
  readonly atEnd: (() => Promise<unknown>)[];
}

export function createContext(
  process: CliProcess,
  { importConfig = (url) => import(url), now = Date.now }: RunOptions = {},
): CliContext {
  return { process, output: createOutput(process), atEnd: [], importConfig, now };
}

type Style = Parameters<typeof util.styleText>[0];

/**
 * The output of a command: data on standard output, everything else on standard error. Nothing that is written here controls the
 * terminal, except our colours, and no note shows a secret.
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
  /** Writes a line to standard error. Masks only the secrets in the variables of this run: any others must be masked already. */
  log(line: string): void;
  /** Returns an error as text: its code, what is wrong, how to fix it. */
  describe(error: unknown): string;
  /** Returns the text without the secrets in the variables of this run. */
  mask(text: string): string;
  /** Text for `data`, with colour where standard output supports it (NO_COLOR, FORCE_COLOR). */
  style(style: Style, text: string): string;
  /** As `style`, for `note`. */
  styleNote(style: Style, text: string): string;
}

type OutputProcess = Pick<CliProcess, "stdout" | "stderr" | "env" | "getBuiltinModule">;

export function createOutput(process: OutputProcess): Output {
  const { stdout, stderr, env } = process;
  const mask = (text: string) => maskOwnSecrets(text, env);
  return {
    isTerminal: stdout.isTTY === true,
    data: (line) => void stdout.write(`${printableLines(line)}\n`),
    json: (value) => void stdout.write(`${printableJson(value)}\n`),
    note: (line) => void stderr.write(`${printableLines(mask(maskSecrets(line)))}\n`),
    log: (line) => void stderr.write(`${printableLines(mask(line))}\n`),
    describe: (error) => describeError(error, env),
    mask,
    style: (style, text) => styled(style, text, stdout, process),
    styleNote: (style, text) => styled(style, text, stderr, process),
  };
}

/** Loads node:util only when there is text to style: importing it takes a tenth of the start-up. */
function styled(
  style: Style,
  text: string,
  stream: NodeJS.WriteStream,
  { env, getBuiltinModule }: OutputProcess,
): string {
  if (!hasColours(stream, env)) return text;
  return getBuiltinModule("node:util").styleText(style, text, { validateStream: false });
}
