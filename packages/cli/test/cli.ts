import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterAll } from "vitest";
import { root } from "../../../test/run.ts";

const main = join(root, "packages/cli/src/main.ts");

export const secret: string = newSecret();

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

/** A folder with these files, in which a config file can import the workspace's packages. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  made.push(path);
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input?: string | Uint8Array;
  /** Arguments for Node.js itself. */
  readonly node?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in its output on either stream. Rejects if it ends without one. */
  written(pattern: RegExp): Promise<RegExpExecArray>;
}

const empty = folder();

/** Starts the command line from its sources. Of our variables, its environment has only the secret. */
export function start(args: readonly string[], options: CliOptions = {}): Running {
  const { node = [], input, cwd = empty } = options;
  return run(
    process.execPath,
    ["--conditions=@esim-webhooks/source", ...node, main, ...args],
    { ...options, cwd },
    input,
  );
}

/** The same in a pseudo terminal, which writes both streams to standard output. */
export function startInTerminal(args: readonly string[], options: CliOptions = {}): Running {
  const command = ["exec", process.execPath, "--conditions=@esim-webhooks/source", main, ...args].join(" ");
  const env = { TERM: "xterm-256color", ...options.env };
  return run("script", ["-qefc", command, "/dev/null"], { cwd: empty, ...options, env });
}

/** Runs it in a shell that redirects standard output into this file. */
export function cliInto(file: string, args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  const program = [process.execPath, "--conditions=@esim-webhooks/source", main, ...args];
  const inShell = ["-c", 'out="$1"; shift; exec "$@" > "$out"', "sh", file, ...program];
  return run("sh", inShell, { cwd: empty, ...options }).ended;
}

/** Runs a line of a shell, in which `esim-webhooks` is the command line. */
export function startLine(line: string, options: CliOptions = {}): Running {
  const bin = folder();
  const program = `exec "${process.execPath}" --conditions=@esim-webhooks/source "${main}" "$@"`;
  writeFileSync(join(bin, "esim-webhooks"), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  const env = { ...options.env, PATH: `${bin}:${process.env["PATH"]}` };
  const inPlace = line.startsWith("esim-webhooks ") ? `exec ${line}` : line; // signals then reach it
  return run("sh", ["-c", inPlace], { cwd: empty, ...options, env });
}

export function cli(args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

function run(
  command: string,
  args: readonly string[],
  options: CliOptions,
  input?: string | Uint8Array,
): Running {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE = "" } = process.env;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ESIM_WEBHOOK_SECRET: secret, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}); // the process ended without reading
  if (input !== undefined || command !== "script") child.stdin.end(input ?? "");
  let stdout = "";
  let stderr = "";
  const looks = new Set<() => void>();
  const onData = (add: (chunk: string) => void) => (chunk: Buffer) => {
    add(String(chunk));
    for (const look of looks) look();
  };
  child.stdout.on(
    "data",
    onData((chunk) => {
      stdout += chunk;
    }),
  );
  child.stderr.on(
    "data",
    onData((chunk) => {
      stderr += chunk;
    }),
  );
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return {
    child,
    ended,
    written: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(`${stdout}\n${stderr}`);
          if (match === null) return;
          looks.delete(look);
          resolve(match);
        };
        looks.add(look);
        look();
        void ended.then(() =>
          reject(new Error(`It ended before it wrote ${pattern}:\n${stdout}\n${stderr}`)),
        );
      }),
  };
}

/** The lines of standard output, parsed as JSON. */
export function jsonLines({ stdout }: Pick<Ended, "stdout">): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
