import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { root } from "../../../test/run.ts";
import { type Begun, beginHere, collectOutput, type Ended } from "./in-process.ts";

const main = join(root, "packages/cli/src/main.ts");

export const secret: string = newSecret();

/** A folder with these files, in which a config file can import the workspace's packages. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input?: string | Uint8Array;
}

/** Options of a run in this process. */
export interface RunOptions extends CliOptions {
  /** Its clock. Default: the machine's. */
  readonly now?: () => number;
}

/** Options of a process of its own. */
export interface ProcessOptions extends CliOptions {
  /** Arguments for Node.js itself. */
  readonly node?: readonly string[];
}

export type { Begun, Ended };

/** A command line in a process of its own. */
export interface Running extends Begun {
  readonly child: ChildProcess;
}

const empty = folder();

/** Runs the command line in this process, to its end. Of our variables, its environment has only the secret. */
export function cli(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return begin(args, options).ended;
}

/** Begins to run the command line in this process. */
export function begin(args: readonly string[], options: RunOptions = {}): Begun {
  return beginHere(args, { cwd: empty, ...options, env: environment(options) });
}

/** Starts the command line from its sources, in a process of its own. */
export function start(args: readonly string[], options: ProcessOptions = {}): Running {
  const { node = [], input, cwd = empty } = options;
  return spawned(
    process.execPath,
    ["--conditions=@esim-webhooks/source", ...node, main, ...args],
    { ...options, cwd },
    input,
  );
}

/** Runs it in a process of its own, to its end. */
export function cliProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** The same in a pseudo terminal, which writes both streams to standard output. */
export function startInTerminal(args: readonly string[], options: CliOptions = {}): Running {
  const command = ["exec", process.execPath, "--conditions=@esim-webhooks/source", main, ...args].join(" ");
  const env = { TERM: "xterm-256color", ...options.env };
  return spawned("script", ["-qefc", command, "/dev/null"], { cwd: empty, ...options, env });
}

/** Runs it in a shell that redirects standard output into this file. */
export function cliInto(file: string, args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  const program = [process.execPath, "--conditions=@esim-webhooks/source", main, ...args];
  const inShell = ["-c", 'out="$1"; shift; exec "$@" > "$out"', "sh", file, ...program];
  return spawned("sh", inShell, { cwd: empty, ...options }).ended;
}

/** Runs a line of a shell, in which `esim-webhooks` is the command line. */
export function startLine(line: string, options: CliOptions = {}): Running {
  const bin = folder();
  const program = `exec "${process.execPath}" --conditions=@esim-webhooks/source "${main}" "$@"`;
  writeFileSync(join(bin, "esim-webhooks"), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  const env = { ...options.env, PATH: `${bin}:${process.env["PATH"]}` };
  const inPlace = line.startsWith("esim-webhooks ") ? `exec ${line}` : line; // signals then reach it
  return spawned("sh", ["-c", inPlace], { cwd: empty, ...options, env });
}

function environment({ env }: CliOptions): Readonly<Record<string, string>> {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE = "" } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE, ESIM_WEBHOOK_SECRET: secret, ...env };
}

function spawned(
  command: string,
  args: readonly string[],
  options: CliOptions,
  input?: string | Uint8Array,
): Running {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: environment(options),
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}); // the process ended without reading
  if (input !== undefined || command !== "script") child.stdin.end(input ?? "");
  const output = collectOutput();
  child.stdout.on("data", output.add("stdout"));
  child.stderr.on("data", output.add("stderr"));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => resolve({ code, ...output.texts }));
  });
  return { child, ended, written: output.written(ended), kill: (signal) => void child.kill(signal) };
}

/** The lines of standard output, parsed as JSON. */
export function jsonLines({ stdout }: Pick<Ended, "stdout">): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
