import type { CommandContext } from "@stricli/core";
import { createOutput, type Output } from "./output.ts";

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
