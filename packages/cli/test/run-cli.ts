import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const inherited = ["PATH", "HOME", "TMPDIR", "NODE_OPTIONS"];

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Left out: standard input is empty, and no terminal. */
  readonly input?: string | Uint8Array | undefined;
}

export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** Resolves once standard error has said it. Rejects if the program ends before. */
  says(text: string): Promise<void>;
}

/** Starts the program on its sources, with no environment of this machine but what it needs to run. */
export function startCli(args: readonly string[], options: RunOptions): RunningCli {
  return startCommand(process.execPath, ["--conditions=source", main, ...args], { input: "", ...options });
}

export function runCli(args: readonly string[], options: RunOptions): Promise<Ran> {
  return startCli(args, options).ended;
}

/** The program at a terminal of 80 columns, where `typed` is typed once it shows `prompt`. What it shows is its stdout. */
export function runAtTerminal(
  args: readonly string[],
  { typed, prompt, ...options }: RunOptions & { readonly typed: string; readonly prompt: string },
): Promise<Ran> {
  const words = [process.execPath, "--conditions=source", main, ...args].map((word) => `'${word}'`);
  const command = `stty cols 80 rows 24; exec ${words.join(" ")}`;
  const { child, ended } = startCommand("script", ["-qec", command, "/dev/null"], options);
  let shown = "";
  let isTyped = false;
  child.stdout?.on("data", (text: string) => {
    shown += text;
    if (isTyped || !shown.includes(prompt)) return;
    isTyped = true;
    child.stdin?.write(typed);
  });
  return ended.finally(() => child.stdin?.end());
}

function startCommand(
  command: string,
  args: readonly string[],
  { cwd, env = {}, input }: RunOptions,
): RunningCli {
  const kept = Object.fromEntries(inherited.map((name) => [name, process.env[name]]));
  const child = spawn(command, args, { cwd, env: { ...kept, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  const waiting = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    for (const look of waiting) look();
  });
  child.stdin.on("error", () => {}); // it may end before it has read all
  if (input !== undefined) child.stdin.end(input);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (stderr.includes(text)) resolve();
        };
        waiting.add(look);
        look();
        void ended.then(() => reject(new Error(`It ended and never said "${text}":\n${stderr}`)));
      }),
  };
}

/** A folder of the test's own. */
export async function makeFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "esim-webhooks-cli-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
