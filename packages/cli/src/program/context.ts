import type { CommandContext } from "@stricli/core";
import { createOutput, type Output } from "./output.ts";

/** The process, as far as commands use it. One that found a problem sets `exitCode`. */
export type CliProcess = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr" | "env"> & { exitCode?: number };

/** What every command gets as `this`. */
export interface CliContext extends CommandContext {
  readonly process: CliProcess;
  readonly output: Output;
}

export function createContext(process: NodeJS.Process): CliContext {
  return { process: process as CliProcess, output: createOutput(process) };
}
