import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export const root: string = join(import.meta.dirname, "..");

export interface Run {
  readonly child: ChildProcess;
  /**
   * Resolves with the first line of standard output that matches. Rejects with the output if the process ends before, or after four
   * minutes: the limit of a test, which is longer, would not show it.
   */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** The lines of both streams so far. */
  output(): string;
  /**
   * Resolves when the process has ended. `output` has the lines of both streams. It may lack the last ones of a process that was
   * killed: a pipe has room for some 200, and the others are lost unless the process writes them by `writeSync`.
   */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

/** Runs a TypeScript file of this repository on its sources. */
export function runNode(args: readonly string[], environment: Record<string, string> = {}): Run {
  return runCommand(process.execPath, ["--conditions=@esim-webhooks/source", ...args], environment);
}

export function runCommand(
  command: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd: string = root,
  stdin: "ignore" | "pipe" = "ignore",
): Run {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...environment },
    stdio: [stdin, "pipe", "pipe"],
  });
  let output = "";
  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  const addLine = (line: string) => {
    output += `${line}\n`;
  };
  createInterface(child.stderr as Readable).on("line", addLine); // a chunk may end within a line, and would be joined to one of stdout
  createInterface(child.stdout as Readable).on("line", (line) => {
    addLine(line);
    lines.push(line);
    for (const wake of waiting) wake(line);
  });
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, output }));
  });
  return {
    child,
    ended,
    output: () => output,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = (when: string) =>
          reject(new Error(`${when} before a line matched ${pattern}:\n${output}`));
        const limit = setTimeout(fail, 240_000, "Four minutes went by").unref();
        const look = (line: string) => {
          const match = pattern.exec(line);
          if (match === null) return;
          waiting.delete(look);
          clearTimeout(limit);
          resolve(match);
        };
        waiting.add(look);
        for (const line of lines) look(line);
        void ended.then(() => fail("The process ended"));
      }),
  };
}
